"""Who owns a run: an operating-system lock on a file, which ends with the process that holds it.

A lock file that only exists, or only names a process, outlives a crash and blocks everybody, or is taken from a live
owner by mistake. The rule: ownership is what the kernel says; the name in the file is for the message alone.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType

from graph_agent.runtime.errors import RunBusy

_WAITS = (0.0, 0.002, 0.008, 0.03)  # seconds


class Lock:
    """Taken when it is made, given back by `release`, by the end of a `with` block, or by the death of the process."""

    def __init__(self, path: Path) -> None:
        """Raises `RunBusy` when another process, or another `Lock` of this one, has it."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        if not _take(self._descriptor):
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise RunBusy(f"the run {path.parent.name} is held by {holder}: wait for it, or end that process")
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, f"process {os.getpid()} ({Path(sys.argv[0] or 'python').name})".encode())

    def release(self) -> None:
        """Give it back; once more does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.ftruncate(descriptor, 0)  # a name that stays is that of a process that was killed
            os.close(descriptor)  # closing is what ends the lock, on every system

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.release()


def holder(path: Path) -> str | None:
    """Who has the lock on the file `path` at this moment; None when nobody has. It is looked at, not kept."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:  # never taken, or not ours to open
        return None
    try:
        named = os.fstat(descriptor).st_size > 0  # an owner that ended well took its name away
        return _holder(descriptor) if named and not _take(descriptor) else None
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """The name in the file, which its owner writes in the moment after it took the lock."""
    for wait in _WAITS:
        time.sleep(wait)
        os.lseek(descriptor, 0, os.SEEK_SET)
        if name := os.read(descriptor, 200).decode("utf-8", "replace"):
            return name
    return "another process"


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # a byte that nothing is written to: a locked one could not be read for the holder's name

    def _take(descriptor: int) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
