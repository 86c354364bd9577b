"""Serve a judge over HTTP on this machine, until Ctrl-C: POST /judge takes {"task", "output", "criterion"}.

The first line on stdout is its URL. It keeps no state and writes no request down; nobody is asked who they are, so it
listens on loopback alone. To serve others, put a real WSGI server before graph_agent.verify.service:app.
"""

from __future__ import annotations

import argparse
import sys
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from graph_agent.cli.exits import DONE, UsageError
from graph_agent.cli.judges import add_judge_options, judge_words, local_judge
from graph_agent.cli.printing import visible
from graph_agent.verify.service import make_app

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

HOST, PORT = "127.0.0.1", 8128
SLOWEST = 30.0
"""Seconds that a client may take for the next byte."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=PORT, help="0 takes any that is free (default: %(default)s)")
    add_judge_options(parser, metavar=("rules|model", "URL"), words="who judges: the rules (default), or a model")


def run(options: argparse.Namespace) -> int:
    words, more = judge_words(options.judge)
    if more:
        raise UsageError(f"--judge does not take {more[0]!r}: give rules, or model URL")
    if not 0 <= options.port <= 65_535:
        raise UsageError(f"--port {options.port}: a port is a number from 0 to 65535")
    chosen = local_judge(words, options)
    with server(make_app(chosen.judge), options.port) as listening:
        print(visible(f"http://{HOST}:{listening.server_port}/judge is judged by {chosen.name}; Ctrl-C ends it"))
        sys.stdout.flush()
        listening.serve_forever()
    return DONE


def server(app: WSGIApplication, port: int) -> WSGIServer:
    """On loopback, a thread for each request. Raises `UsageError` for a port that is taken."""
    try:
        listening = _Server((HOST, port), _Handler)
    except OSError as error:
        raise UsageError(f"port {port} can't be had ({error.strerror}): give --port another, or 0 for any") from error
    listening.set_app(app)
    return listening


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True  # Ctrl-C does not wait for a model

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's asks the name service who this is, which may take seconds
        self.server_name, self.server_port = HOST, self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that is gone or too slow is no fault
            super().handle_error(request, client_address)


class _Handler(WSGIRequestHandler):
    timeout = SLOWEST

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing of a request is written down."""
