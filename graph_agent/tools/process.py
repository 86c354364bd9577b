"""Start one program, read what it prints, and have it gone at the end, with all that it started.

The one rule: when `run_process` is left, be it by a timeout or Ctrl-C, nobody of the process group runs any more,
nothing has waited for a grandchild's pipe, and memory did not grow with the output.
"""

from __future__ import annotations

import atexit
import os
import re
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

_TICK = 0.05  # seconds between two looks at a silent program
_DRAIN = 0.2  # for the last output, where a grandchild keeps the pipe open
_LAST_WORDS = 3.0  # for a thread whose program was ended, to tidy up

_RUNNING: dict[subprocess.Popen[bytes], Thread] = {}


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """What came of a command.

    `exit_code` is None when it was stopped at its timeout or never started (`problem` then says why); a negative one is
    the signal that ended it. `output` is stdout and stderr as they came, with a marker in place of `dropped` bytes.
    `isolation` is what was in force: "bubblewrap" or "none".
    """

    argv: tuple[str, ...]
    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    output: str = ""
    dropped: int = 0
    isolation: str = "none"
    problem: str = ""


def run_process(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], timeout: float, output_limit: int
) -> CommandResult:
    """Raises OSError when it can't be started."""
    kept, enough, began = HeadAndTail(output_limit), Event(), monotonic()
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    )
    _RUNNING[process] = current_thread()
    reader = Thread(target=_read, args=(process.stdout, kept, enough), name="command output", daemon=True)
    in_time = False
    try:
        reader.start()
        in_time = _ends(process, reader, began + timeout)
    finally:
        _end_group(process)
        reader.join(_DRAIN)
        enough.set()
        reader.join(1.0)
        del _RUNNING[process]
    output, dropped = kept.text()
    return CommandResult(
        argv=tuple(argv),
        exit_code=process.returncode if in_time else None,
        timed_out=not in_time,
        seconds=monotonic() - began,
        output=output,
        dropped=dropped,
    )


def end_all() -> None:
    """End every program that a thread still waits for: an interrupted fan-out leaves its threads behind."""
    left = dict(_RUNNING)
    for process in left:
        _end_group(process)
    for thread in set(left.values()) - {current_thread()}:
        thread.join(_LAST_WORDS)


atexit.register(end_all)


class HeadAndTail:
    """The first and the last bytes of a stream (failures stand at its end), at most `limit`."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head, self._tail, self._lost = bytearray(), bytearray(), 0

    def add(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 4 * self._half:  # seldom, as it moves the tail
            self._cut()

    def text(self) -> tuple[str, int]:
        """The output, and how many bytes are missing."""
        self._cut()
        if not self._lost:
            return printable(bytes(self._head + self._tail)), 0
        head, tail = _HALF_AT_END.sub(b"", self._head), _HALF_AT_START.sub(b"", self._tail)
        dropped = self._lost + len(self._head) - len(head) + len(self._tail) - len(tail)
        return f"{printable(head)}\n[... {dropped} bytes dropped ...]\n{printable(tail)}", dropped

    def _cut(self) -> None:
        over = max(0, len(self._tail) - self._half)
        del self._tail[:over]
        self._lost += over


# Half a line, or half a character.
_HALF_AT_END = re.compile(rb"(?:\n[^\n]{0,500}|[\xc0-\xff][\x80-\xbf]{0,2})\Z")
_HALF_AT_START = re.compile(rb"\A(?:[^\n]{0,500}\n|[\x80-\xbf]*)")


def printable(raw: bytes) -> str:
    """Without terminal commands, and with control characters visible."""
    text = _TERMINAL.sub("", raw.decode("utf-8", "replace"))
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_SIGNS)


_TERMINAL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movement
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # window titles and links
    r"|\x1b[()*+][0-9A-Za-z]|\x1b[=>@-Z\\^_]"
)
# The last two, line separators and reading directions, could show a reviewer another text.
_HIDDEN = (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_SIGNS = {code: 0x2400 + code for code in range(0x20) if code not in b"\t\n"} | dict.fromkeys(_HIDDEN, 0xFFFD)


def _read(pipe: IO[bytes], kept: HeadAndTail, enough: Event) -> None:
    """In a thread, as Windows can't select on pipes."""
    with pipe, selectors.DefaultSelector() as ready:
        if sys.platform != "win32":
            ready.register(pipe, selectors.EVENT_READ)
        while not enough.is_set():
            if sys.platform != "win32" and not ready.select(_TICK):
                continue
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                return
            kept.add(chunk)


def _ends(process: subprocess.Popen[bytes], reader: Thread, deadline: float) -> bool:
    while process.poll() is None and (left := deadline - monotonic()) > 0:
        if reader.is_alive():
            reader.join(min(left, _TICK))  # a closed pipe is the quickest sign
        else:
            with suppress(subprocess.TimeoutExpired):
                process.wait(left)
    return process.poll() is not None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        kill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        with suppress(OSError):
            subprocess.run(kill, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return
    for sign, grace in ((signal.SIGTERM, 0.5), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError, PermissionError):  # nobody left; on macOS zombies
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):  # stuck inside the kernel
            process.wait(grace)
