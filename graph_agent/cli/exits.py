"""The exit codes, and how a command ends when it is told to."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from graph_agent.protocols import GraphAgentError

DONE, FAILED, USAGE, WAITING, FUSE, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 130, 143


class UsageError(GraphAgentError):
    """The command line, or a file that it names, can't be used. The message says what to give instead."""


class Terminated(BaseException):
    """SIGTERM: like Ctrl-C, children are ended and what is done is kept."""


def terminate_politely() -> None:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that child processes are not left behind."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _raise)


def _raise(_: int, __: FrameType | None) -> None:
    raise Terminated
