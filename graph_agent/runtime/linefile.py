"""A file that lines are appended to: each is on the disk when `append` returns, or it is taken back.

The rule: what was appended before is never touched.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

datasync = getattr(os, "fdatasync", os.fsync)


class LineFile:
    """`sync`: whether to wait for the disk, and not only for the system. `size` counts the bytes that hold."""

    def __init__(self, path: Path, *, size: int | None, sync: bool) -> None:
        """`size`: how much of the file holds, what lies behind is cut off; None: it is made, and must not be there."""
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if size is None else 0), 0o600)
        self._sync, self.size, self.is_open = sync, size or 0, True
        if os.fstat(self._descriptor).st_size > self.size:
            os.ftruncate(self._descriptor, self.size)

    def append(self, line: bytes) -> None:
        """Raises OSError when the disk refuses; the file is closed then, and as it was before.

        It is closed too when Ctrl-C comes in between: only who reads it again can tell whether the line is whole.
        """
        size = self.size + len(line)
        try:
            write_all(self._descriptor, line)
            if self._sync:
                datasync(self._descriptor)
        except OSError:
            with suppress(OSError):  # else the next reader drops the torn line
                os.ftruncate(self._descriptor, self.size)
            self.close()
            raise
        except BaseException:
            self.close()
            raise
        self.size = size

    def close(self) -> None:
        """Once more does nothing."""
        if self.is_open:
            self.is_open = False
            os.close(self._descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])
