"""Start one program, read what it prints, and have it gone at the end: the program and all that it started.

The program gets its own process group and no keyboard. Whether it ends by itself, runs out of time or the user presses
Ctrl-C, the one rule holds: when `run_process` is left, nobody of the group runs any more, and nothing has waited for a
pipe that some grandchild forgot to close.
"""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, current_thread
from time import monotonic
from typing import IO

from graph_agent.tools.output import HeadAndTail

_TICK = 0.05  # seconds between two looks at a program whose pipe says nothing
_DRAIN = 0.2  # what a program printed just before its end is read for so long, though its child keeps the pipe open
_GRACE = 0.5  # from the request to end until the kill
_LAST_WORDS = 3.0  # for a thread whose program was ended, to notice it and to remove what it left on disk

_RUNNING: dict[subprocess.Popen[bytes], Thread] = {}


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended. `exit_code` is None when it was stopped; a negative one is the signal that ended it."""

    exit_code: int | None
    timed_out: bool
    seconds: float
    output: str
    dropped: int


def run_process(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], timeout: float, output_limit: int
) -> Ended:
    """Run `argv` for at most `timeout` seconds. Raises OSError when it can't be started."""
    kept = HeadAndTail(output_limit)
    began = monotonic()
    process = _start(argv, cwd, environment)
    _RUNNING[process] = current_thread()
    assert process.stdout is not None
    reader = _Reader(process.stdout, kept)
    in_time = False
    try:
        reader.start()
        in_time = _ends_by(began + timeout, process, reader)
    finally:
        _end_group(process)
        reader.finish()
        del _RUNNING[process]
    output, dropped = kept.text()
    return Ended(
        exit_code=process.returncode if in_time else None,
        timed_out=not in_time,
        seconds=monotonic() - began,
        output=output,
        dropped=dropped,
    )


def end_all() -> None:
    """End every program that a thread of this process still waits for, and let the threads tidy up.

    For whoever leaves while commands run: an interrupted fan-out leaves its threads behind, and they their programs.
    """
    left = dict(_RUNNING)
    for process in left:
        _signal_group(process, gently=False)
    for thread in set(left.values()) - {current_thread()}:
        thread.join(_LAST_WORDS)


atexit.register(end_all)


def _start(argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
        creationflags=flags,
    )


def _ends_by(deadline: float, process: subprocess.Popen[bytes], reader: _Reader) -> bool:
    while (left := deadline - monotonic()) > 0:
        reader.join(min(left, _TICK))
        if not reader.is_alive():  # the pipe is closed: the usual, and the quickest, sign of the end
            try:
                process.wait(left)
            except subprocess.TimeoutExpired:
                return False
            return True
        if process.poll() is not None:
            reader.join(min(left, _DRAIN))
            return True
    return False


class _Reader(Thread):
    """Empties the pipe, so that the program never waits for its reader. A thread, as Windows can't select on pipes."""

    def __init__(self, pipe: IO[bytes], kept: HeadAndTail) -> None:
        super().__init__(name="command output", daemon=True)
        self._pipe, self._kept, self._enough = pipe, kept, Event()

    def run(self) -> None:
        if sys.platform == "win32":
            while self._read():
                pass
            return
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while not self._enough.is_set():
                if selector.select(_TICK) and not self._read():
                    return

    def _read(self) -> bool:
        chunk = os.read(self._pipe.fileno(), 1 << 16)
        self._kept.add(chunk)
        return bool(chunk)

    def finish(self) -> None:
        self._enough.set()
        if self.ident is not None:
            self.join(1.0)
        if not self.is_alive():  # closing a pipe under a blocked read would block too
            self._pipe.close()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _signal_group(process, gently=True)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    _signal_group(process, gently=False)
    with suppress(subprocess.TimeoutExpired):  # stuck inside the kernel: no signal reaches it, and the result says so
        process.wait(5.0)


def _signal_group(process: subprocess.Popen[bytes], *, gently: bool) -> None:
    if sys.platform == "win32":
        if gently:
            with suppress(OSError):
                process.send_signal(signal.CTRL_BREAK_EVENT)
        else:
            kill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(kill, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
        return
    with suppress(ProcessLookupError, PermissionError):  # nobody left; macOS says the same of a group of zombies
        os.killpg(process.pid, signal.SIGTERM if gently else signal.SIGKILL)
