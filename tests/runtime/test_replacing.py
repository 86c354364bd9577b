"""A file that is replaced in one step; what holds for checkpoints, by way of it, is in `test_checkpoint.py`."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from unittest.mock import patch

import pytest

from graph_agent.runtime.replacing import replace_file

POSIX = pytest.mark.skipif(os.name != "posix", reason="mode bits and folders as POSIX has them")


def test_a_file_that_lies_beside_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("somebody's", encoding="utf-8")
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "f", b"new", beside="beside", mode=None)
    assert not (tmp_path / "f").exists()


@POSIX
def test_before_a_file_has_its_own_mode_nobody_else_can_read_it(tmp_path: Path) -> None:
    modes: list[int] = []
    sync = os.fsync

    def look(handle: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
        sync(handle)

    with patch("os.fsync", side_effect=look):
        replace_file(tmp_path / "f", b"new", beside="beside", mode=0o644)
    assert modes[0] == 0o600
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


@POSIX
@pytest.mark.parametrize(("number", "raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_synced_is_no_error_and_one_that_fails_is(
    tmp_path: Path, number: int, raised: bool
) -> None:
    sync = os.fsync

    def refuse(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        sync(handle)

    with patch("os.fsync", side_effect=refuse):
        if raised:
            with pytest.raises(OSError, match=os.strerror(number)):
                replace_file(tmp_path / "f", b"new", beside="beside", mode=None)
        else:
            replace_file(tmp_path / "f", b"new", beside="beside", mode=None)
    assert (tmp_path / "f").read_bytes() == b"new"
