"""A file replaced whole or not at all, and on the disk when that is said.

The content goes to a new file beside the old one, which then takes its name in one step. The rule: a reader at any
moment, and after any crash, finds the old content or the new one and never half of either.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from errno import EACCES, EBADF, EINVAL, ENOTSUP, EPERM
from pathlib import Path

IS_WINDOWS = os.name == "nt"

_WAITS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # seconds; a scanner holds a file for less than their sum
_NO_FOLDER_SYNC = {EACCES, EBADF, EINVAL, ENOTSUP, EPERM}


def replace_file(target: Path, content: bytes, *, beside: str, mode: int | None) -> None:
    """Give `target` new content, by way of a file named `beside` in its folder, which must not be there yet.

    `mode` holds the permission bits that the file gets, None: those that new files get. Raises OSError when the disk
    refuses; the file is then as it was, and nothing lies beside it.
    """
    temporary = target.with_name(beside)
    try:
        _write(temporary, content, mode)
        _rename(temporary, target)
    except BaseException:  # also a keyboard interrupt: nothing may be left behind
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def _write(path: Path, content: bytes, mode: int | None) -> None:
    at_first = 0o666 if mode is None else 0o600  # nobody else reads it before it has its own mode
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, at_first)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        path.chmod(mode)


def _rename(temporary: Path, target: Path) -> None:
    """On Windows a scanner or a reader may hold the target for a moment; elsewhere a refusal is final."""
    for wait in _WAITS if IS_WINDOWS else ():
        try:
            temporary.replace(target)
            return
        except PermissionError:
            time.sleep(wait)
    temporary.replace(target)


def sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can sync a folder. The file is already in place."""
    if IS_WINDOWS:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
