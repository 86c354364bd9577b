"""What a file shall hold after an edit: decided from bytes and hashes alone, before anything is written.

An edit may be asked for twice, after a crash or by a retry, so the question is always whether the file is what the
edit starts from or what it leads to. The rule: a file that is already what it shall be is left alone, and one that is
neither is never written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from graph_agent.protocols import ToolError
from graph_agent.tools.files import sha256
from graph_agent.tools.paths import quoted
from graph_agent.tools.textedit import TextEdit, edited_bytes, undone

Base: TypeAlias = Literal["current", "original"]

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """An edit that was asked for. `before` and `after` are the SHA-256 the caller expects, "" for none."""

    name: str
    edits: Sequence[TextEdit]
    on: Base = "current"
    before: str = ""
    after: str = ""


def wanted(wish: Wish, current: bytes | None, original: bytes | None) -> bytes:
    """The bytes that the file shall hold; equal to `current` when they already stand there. None: no such file.

    Raises ToolError: not_found, changed_meanwhile, bad_arguments, and what `edited_bytes` raises.
    """
    for given in (wish.before, wish.after):
        if given and not _HASH.fullmatch(given):
            raise ToolError("bad_arguments", f"{quoted(given)} is no SHA-256: it has 64 digits from 0 to f.")
    now = "" if current is None else sha256(current)
    if current is not None and wish.after == now:
        return current
    result = _on_original(wish, original) if wish.on == "original" else _on_current(wish, current, original)
    if wish.after and sha256(result) != wish.after:
        raise _changed(wish, "these edits do not lead to the text that was expected after them")
    if wish.before and wish.before != now and result != current:
        raise _changed(wish, "it is not what the edits were made for")
    return result


def _on_original(wish: Wish, original: bytes | None) -> bytes:
    if original is None:
        raise ToolError("not_found", f"{quoted(wish.name)} is not in the original workspace.")
    return edited_bytes(original, wish.edits, wish.name)


def _on_current(wish: Wish, current: bytes | None, original: bytes | None) -> bytes:
    if current is None:
        raise ToolError("not_found", f"There is no file {quoted(wish.name)} in the workspace.")
    if wish.before == sha256(current):
        return edited_bytes(current, wish.edits, wish.name)
    if _leads_here(wish, original, current) or (wish.before and _leads_here(wish, _before(wish, current), current)):
        return current
    if wish.before:
        raise _changed(wish, "it is not what the edits were made for")
    return edited_bytes(current, wish.edits, wish.name)


def _leads_here(wish: Wish, start: bytes | None, current: bytes) -> bool:
    """Whether the edits, applied to a text that they may be meant for, give the current one."""
    if start is None or (wish.before and sha256(start) != wish.before):
        return False
    with suppress(ToolError):
        return edited_bytes(start, wish.edits, wish.name) == current
    return False


def _before(wish: Wish, current: bytes) -> bytes | None:
    """The text that the edits may have been applied to, None when they cannot be taken back."""
    with suppress(ToolError):
        return edited_bytes(current, undone(wish.edits), wish.name)
    return None


def _changed(wish: Wish, why: str) -> ToolError:
    hint = "Read it again and make the edits for what stands there now."
    return ToolError("changed_meanwhile", f"{quoted(wish.name)} was not changed: {why}.", hint=hint)
