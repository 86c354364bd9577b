"""Who owns a run: an operating-system lock on a file, which ends with the process that holds it.

A lock file that only exists, or only names a process, outlives a crash and blocks everybody, or is taken from a live
owner by mistake. The rule: ownership is what the kernel says; the name in the file is for the message alone.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from graph_agent.runtime.errors import JournalError, RunBusy

_WAITS = (0.0, 0.002, 0.008, 0.03)  # seconds: somebody may be looking, or just writing its name


class Lock:
    """Taken when it is made, given back by `release`, by the end of a `with` block, or by the death of the process.

    A process that is forked meanwhile has no part in it: there, the lock is not held.
    """

    def __init__(self, path: Path) -> None:
        """Raises `RunBusy` when another process, or another `Lock` of this one, has it; `JournalError` for no file."""
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            text = f"the run {path.parent.name} can't be taken: {error.strerror}: {path}; read_run looks without taking"
            raise JournalError(text) from error
        _here.add(self)
        if not any(_taken_after(self._descriptor, wait) for wait in _WAITS):
            held_by = _name(self._descriptor) or "another process"
            self._close()
            raise RunBusy(f"the run {path.parent.name} is held by {held_by}: wait for it, or end that process")
        with suppress(OSError):  # a full disk: the name is for a message alone
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"process {os.getpid()} ({Path(sys.argv[0] or 'python').name})".encode())

    @property
    def held(self) -> bool:
        return self._descriptor >= 0

    def release(self) -> None:
        """Give it back; once more does nothing."""
        if self.held:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)  # a name that stays is that of a process that was killed
            _give(self._descriptor)
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        _here.discard(self)
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.release()


_here: set[Lock] = set()  # those of this process


def _forget() -> None:
    """In a forked process: else it would keep the lock when its parent is dead, and could give its parent's away."""
    for lock in tuple(_here):
        lock._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def holder(path: Path) -> str | None:
    """Who has the lock on the file `path` at this moment; None when nobody has.

    To look is to take it for an instant, which is why an owner-to-be tries more than once.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:  # never taken, or not ours to open
        return None
    try:
        named = os.fstat(descriptor).st_size > 0  # an owner that ended well took its name away
        return (_name(descriptor) or "another process") if named and not _take(descriptor) else None
    finally:
        os.close(descriptor)


def _taken_after(descriptor: int, wait: float) -> bool:
    time.sleep(wait)
    return _take(descriptor)


def _name(descriptor: int) -> str:
    """What its owner wrote into the file in the moment after it took the lock."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 200).decode("utf-8", "replace")


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

    def _give(descriptor: int) -> None:
        """Closing is what ends it."""

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _give(descriptor: int) -> None:
        """Closing would not end it while a child that is being started still has a copy of the descriptor."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)
