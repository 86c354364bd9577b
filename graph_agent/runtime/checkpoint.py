"""A state in a file: one JSON object, replaced whole or not at all.

A reader, at any moment and after any crash, finds the old state or the new one and never half of either. What would
come back different is refused before anything is written, and a file that is absent, damaged, of another type or of a
newer format is a different error each.
"""

from __future__ import annotations

import os
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from graph_agent.protocols import Json
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CheckpointAbsent, CheckpointCorrupt, CheckpointError, CodecError
from graph_agent.runtime.quoting import quote, type_name
from graph_agent.runtime.replacing import replace_file

FORMATS = {1: "an object of format, state_type (the name of the state's class) and state"}
FORMAT = max(FORMATS)

_KEYS = {"format", "state_type", "state"}

T = TypeVar("T")


def save_checkpoint(state: object, path: str | os.PathLike[str]) -> None:
    """Write a state, a frozen dataclass, to `path`; when it returns, the file is on the disk.

    Raises `CheckpointError` when the state cannot be saved (with the field) or the folder is not there, and OSError
    when the disk refuses. In every case the file is then as it was before.
    """
    text = _text_of(state, Path(path))
    target = _target(path)
    mode = target.stat().st_mode & 0o7777 if target.exists() else None
    replace_file(target, text.encode("utf-8"), beside=f".checkpoint-{os.urandom(8).hex()}.tmp", mode=mode)


def load_checkpoint(path: str | os.PathLike[str], state_type: type[T]) -> T:
    """Read the state that `save_checkpoint` wrote.

    Raises `CheckpointAbsent` when there is no file; `CheckpointCorrupt` when it is not a whole checkpoint;
    `CheckpointError` when it is one, but of a newer format, of another type, or does not fit `state_type` as it is now.
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise CheckpointAbsent(f"there is no checkpoint {path}") from None
    data = _envelope(raw, Path(path))
    if data["state_type"] != state_type.__name__:
        raise CheckpointError(f"{path} holds a {data['state_type']}, not a {state_type.__name__}: load it as that")
    try:
        state: T = decode(state_type, data["state"], "state")
    except CodecError as error:
        advice = f"it was saved by another version of {state_type.__name__}, or changed by hand"
        raise CheckpointError(f"{path} does not fit {type_name(state_type)}: {error}; {advice}") from error
    return state


def _target(path: str | os.PathLike[str]) -> Path:
    """The file to replace: what a link names, and not the link."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise CheckpointError(f"cannot save {path}: there is no folder {target.parent.name!r}, make it first")
    if target.is_dir():
        raise CheckpointError(f"cannot save {path}: it is a folder, name a file in it")
    return target


def _text_of(state: Any, path: Path) -> str:
    """The file's text, tried out: reading it gives the same text again."""
    cls = type(state)
    if not is_dataclass(cls):
        raise CheckpointError(f"cannot save {path}: a state is a frozen dataclass, got {quote(state)}")
    try:
        data = encode(state, path="state")
        again = encode(decode(cls, data, "state"), path="state")
        text = jsontext.dumps({"format": FORMAT, "state_type": cls.__name__, "state": data})
        same = jsontext.dumps(again) == jsontext.dumps(data)
    except CodecError as error:
        raise CheckpointError(f"cannot save {path}: {error}") from error
    if not same:
        reason = "its __post_init__ changes values that it made itself"
        raise CheckpointError(f"cannot save {path}: this {cls.__name__} would come back different, {reason}")
    return text


def _envelope(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        data: Json = jsontext.loads(raw)
    except CodecError as error:
        raise CheckpointCorrupt(f"{path} is damaged: {error}; go back to a copy, or start again") from error
    if not isinstance(data, dict) or type(data.get("format")) is not int:
        raise CheckpointCorrupt(f"{path} is no checkpoint: a checkpoint is {FORMATS[FORMAT]}")
    number: Any = data["format"]
    if number > FORMAT:
        raise CheckpointError(f"{path} is of format {number}, this version reads up to {FORMAT}: update graph_agent")
    if number not in FORMATS or data.keys() != _KEYS or not isinstance(data["state_type"], str):
        raise CheckpointCorrupt(f"{path} is no checkpoint of format {quote(number)}: {FORMATS.get(number, 'unknown')}")
    return data
