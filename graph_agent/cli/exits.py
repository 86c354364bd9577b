"""The exit codes, and how a command ends when it is told to."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from graph_agent.protocols import GraphAgentError

DONE, FAILED, USAGE, WAITING, FUSE, PARTIAL = 0, 1, 2, 3, 4, 5
INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 and the number of the signal


class UsageError(GraphAgentError):
    """The command line, or a file that it names, can't be used."""


class Terminated(BaseException):
    """SIGTERM, or the terminal is gone."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.code = 128 + number


def terminate_politely() -> None:
    """Let a signal unwind the stack as Ctrl-C does, so that no child is left behind."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _raise)


def _raise(number: int, _: FrameType | None) -> None:
    raise Terminated(number)
