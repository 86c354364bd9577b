"""A state in a file: one JSON object, replaced whole or not at all.

A reader, after any crash, finds the old state or the new one and never half of either. What would come back
different is refused before anything is written.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CheckpointAbsent, CheckpointCorrupt, CheckpointError, CodecError

FORMATS = {1: "an object of format, state_type (the name of the state's class) and state"}
FORMAT = max(FORMATS)
IS_WINDOWS = os.name == "nt"

_WAITS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # seconds

T = TypeVar("T")


def save_checkpoint(state: object, path: str | os.PathLike[str]) -> None:
    """Write a state, a frozen dataclass, to `path`; when it returns, the file is on the disk.

    Raises `CheckpointError` when the state cannot be saved, OSError when the disk refuses; the file is as it was then.
    """
    try:
        data = encode(state, path="state")
        same = encode(decode(type(state), data), path="state") == data
        text = jsontext.dumps({"format": FORMAT, "state_type": type(state).__name__, "state": data})
    except CodecError as error:
        raise CheckpointError(f"cannot save {path}: {error}") from error
    if not same:
        raise CheckpointError(f"cannot save {path}: __post_init__ of {type(state).__name__} would change the values")
    replace_file(Path(path), text.encode("utf-8"), beside=f".checkpoint-{os.urandom(8).hex()}.tmp")


def load_checkpoint(path: str | os.PathLike[str], state_type: type[T]) -> T:
    """Read the state that `save_checkpoint` wrote.

    Raises `CheckpointAbsent`; `CheckpointCorrupt` for what is no whole checkpoint; `CheckpointError` for one of a newer
    format, of another type, or that does not fit `state_type` as it is now.
    """
    try:
        data: Any = jsontext.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise CheckpointAbsent(f"there is no checkpoint {path}") from None
    except CodecError as error:
        raise CheckpointCorrupt(f"{path} is damaged: {error}; go back to a copy") from error
    number = data.get("format") if isinstance(data, dict) else None
    if type(number) is int and number > FORMAT:
        raise CheckpointError(f"{path} is of format {number}, this version reads up to {FORMAT}: update graph_agent")
    if type(number) is not int or number not in FORMATS or data.keys() != {"format", "state_type", "state"}:
        raise CheckpointCorrupt(f"{path} is no checkpoint, which is {FORMATS[FORMAT]}")
    if data["state_type"] != state_type.__name__:
        raise CheckpointError(f"{path} holds a {data['state_type']}, not a {state_type.__name__}: load it as that")
    try:
        state: T = decode(state_type, data["state"], "state")
    except CodecError as error:
        raise CheckpointError(f"{path} does not fit {state_type.__name__} as it is now: {error}") from error
    return state


def replace_file(target: Path, content: bytes, *, beside: str, mode: int | None = None) -> None:
    """Give `target` new content, by way of a new file named `beside` in its folder.

    `mode`: the permission bits; None: those of a new file. Raises OSError when the disk refuses: all is as it was then.
    """
    temporary = target.with_name(beside)
    try:
        _write(temporary, content, mode)
        _rename(temporary, target)
    except FileExistsError:  # somebody else's
        raise
    except BaseException:  # Ctrl-C too
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def _write(path: Path, content: bytes, mode: int | None) -> None:
    at_first = 0o666 if mode is None else 0o600  # private until it has its own mode
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, at_first)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        path.chmod(mode)


def _rename(temporary: Path, target: Path) -> None:
    """On Windows a scanner or a reader may hold the target for a moment."""
    for wait in _WAITS if IS_WINDOWS else ():
        try:
            temporary.replace(target)
            return
        except PermissionError:
            time.sleep(wait)
    temporary.replace(target)


def sync_folder(folder: Path) -> None:
    """See that a name made or changed in a folder is on the disk."""
    if IS_WINDOWS:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot sync a folder
            os.fsync(handle)
    finally:
        os.close(handle)
