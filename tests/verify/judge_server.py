"""A judge service on loopback, by the server of `serve-judge`, for the tests of it and of its client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graph_agent.cli.serve_judge import server


@contextmanager
def serving(app: Any) -> Iterator[int]:
    """Its port."""
    with server(app, 0) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listening.server_port
        finally:
            listening.shutdown()
            thread.join()
