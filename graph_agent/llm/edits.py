"""Edits from a model's reply, in any of the three shapes in which models can write them.

Weak models manage a whole function in a fence; stronger ones may send find/replace pairs as JSON or a whole file.
The rule: all three end as the same `Edit`, checked against the files as they are, and sloppiness is forgiven only
where nothing can be lost by it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from graph_agent.llm.editprompts import EditFormat, instructions_for
from graph_agent.llm.errors import NotJSON
from graph_agent.llm.functionedits import function_edit
from graph_agent.llm.functionreplies import Piece, function_edits
from graph_agent.llm.functions import Source
from graph_agent.llm.reading import read_json
from graph_agent.llm.textedits import Edit, EditError, apply_edits, file_edits, replace_edit, unique_edit
from graph_agent.llm.wrapping import Fence, after_reasoning, fences
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError, nearest

__all__ = [
    "Edit",
    "EditError",
    "EditFormat",
    "apply_edits",
    "edits_from_reply",
    "file_edits",
    "function_edit",
    "instructions_for",
    "replace_edit",
    "unique_edit",
]

_PYTHON = frozenset({"", "python", "python3", "py", "py3", "pyi"})
_NAMED = re.compile(r"\s*#+\s*(?:(?:path|file|filename)\s*:\s*)?[`'\"]?([\w./\\+-]+\.\w+)[`'\"]?\s*:?\s*")
_DEFINES = re.compile(r"^\s*(?:async\s+def|def)\s", re.MULTILINE)
_ELIDED = re.compile(
    r"^[ \t]*#+[ \t]*(?:(?:\.\.\.|…).*|.*\b(?:rest of the|existing code|code here|unchanged|same as before)\b.*)$",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class _Proposed:
    old: str
    new: str
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class _Proposal:
    edits: tuple[_Proposed, ...]


def edits_from_reply(shape: EditFormat, reply_text: str, files: Mapping[str, str]) -> tuple[Edit, ...]:
    """The edits that a reply proposes, each checked against `files` (path to text): all of them, or an `EditError`.

    Not for a reply that was cut: what is left of it may look whole. Look at `reply.finish` first.
    """
    if not files:
        raise EditError("no_files", "there is no file that may be edited.")
    if shape == "replace":
        edits = _from_json(reply_text, files)
    elif shape == "function":
        edits = function_edits(_pieces(after_reasoning(reply_text), files), files)
    elif shape == "file":
        edits = _from_files(after_reasoning(reply_text), files)
    else:
        raise EditError("unknown_format", f"{shape!r} is no edit format: use one of {', '.join(get_args(EditFormat))}.")
    _check_result(edits, files)
    return edits


def _check_result(edits: tuple[Edit, ...], files: Mapping[str, str]) -> None:
    by_path: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        by_path[edit.path].append(edit)
    for path, of_file in by_path.items():
        text = apply_edits(files[path], of_file)
        if path.endswith((".py", ".pyi")) and _parses(files[path]):
            Source(f"{path} after the edit", text)


def _parses(text: str) -> bool:
    try:
        Source("", text)
    except EditError:
        return False
    return True


def _from_json(reply: str, files: Mapping[str, str]) -> tuple[Edit, ...]:
    try:
        proposal: _Proposal = decode(_Proposal, read_json(reply, want={"edits"}))
    except (NotJSON, CodecError) as error:
        raise EditError("not_json" if isinstance(error, NotJSON) else "not_schema", str(error)) from error
    if not proposal.edits:
        raise EditError("no_change", "the answer proposes no edit.")
    wanted = dict.fromkeys((_resolved(edit.path, files), edit.old, edit.new) for edit in proposal.edits)
    return tuple(replace_edit(path, files[path], old, new) for path, old, new in wanted)


def _pieces(answer: str, files: Mapping[str, str]) -> Iterator[Piece]:
    found = [fence for fence in fences(answer) if _is_python(fence) and _DEFINES.search(fence.body)]
    if not found and _DEFINES.search(answer) and _parses(answer):
        found = [Fence("", answer, 0, len(answer), True)]
    if not found:
        hint = "Write the whole corrected function in one ```python fence."
        raise EditError("no_function", "the answer has no fenced block with a function.", hint=hint)
    for number, fence in enumerate(found, 1):
        _refuse_elided(fence.body, "\n".join(files.values()))
        where = "the code in the answer" if len(found) == 1 else f"fence {number} of the answer"
        path = _named_path(fence, files, strict=len(files) > 1)[0]
        yield Piece(source=Source(where, fence.body, piece=True), path=path)


def _from_files(answer: str, files: Mapping[str, str]) -> tuple[Edit, ...]:
    texts: dict[str, str] = {}
    for fence in fences(answer):
        named, body = _named_path(fence, files)
        path = named or _resolved("", files)
        if texts.setdefault(path, body) != body:
            raise EditError("two_versions", f"the answer has two different texts for {path}.")
    if not texts:
        raise EditError("no_fence", "the answer has no fenced block.", hint="Write the whole file in one fence.")
    changed = {path: body for path, body in texts.items() if body.splitlines() != files[path].splitlines()} or texts
    for path, body in changed.items():
        _refuse_elided(body, files[path])
    return tuple(edit for path, body in sorted(changed.items()) for edit in file_edits(path, files[path], body))


def _is_python(fence: Fence) -> bool:
    return re.split(r"[\s:{]", fence.label, maxsplit=1)[0].lower() in _PYTHON or ".py" in fence.label


def _named_path(fence: Fence, files: Mapping[str, str], *, strict: bool = True) -> tuple[str, str]:
    """The path that a fence names, on its first line or after the marks ("" for none), and its lines without it.

    Unless `strict`, a bare name that is no file's ("# solution.py") is no path.
    """
    first, _, rest = fence.body.partition("\n")
    written = _NAMED.fullmatch(first)
    words = [written.group(1)] if written else []
    for word in [*words, *re.split(r"[\s:=\"']+", fence.label)]:
        known = _same_file(word, files) if word else []
        if known or (_looks_like_path(word) and (strict or "/" in word)):
            path = _resolved(word, files)
            kept = word not in words or files[path].removeprefix("\ufeff").startswith(first.strip())
            return path, fence.body if kept else rest
    return "", fence.body


def _looks_like_path(word: str) -> bool:
    return word.endswith((".py", ".pyi")) or "/" in word


def _same_file(word: str, files: Mapping[str, str]) -> list[str]:
    plain = word.replace("\\", "/").removeprefix("./")
    return [plain] if plain in files else [path for path in files if f"/{path}".endswith(f"/{plain}")]


def _resolved(word: str, files: Mapping[str, str]) -> str:
    meant = _same_file(word, files) if word else list(files)
    if len(meant) == 1:
        return meant[0]
    listed = ", ".join(sorted(meant or files))
    if word:
        found = f"{word!r} may be {listed}." if meant else f"{word!r} is not among {listed}{nearest(word, files)}."
        raise EditError("unknown_file", found, hint="Use a path as it was given.")
    raise EditError("unknown_file", "the answer does not say which file it means.", hint=f"Name one of {listed}.")


def _refuse_elided(body: str, original: str) -> None:
    for match in _ELIDED.finditer(body):
        if match.group().strip() not in original:
            line = body.count("\n", 0, match.start()) + 1
            said = f"line {line} stands for code that was left out: {match.group().strip()!r}."
            raise EditError("elided", said, hint="Write all of it.", lines=(line,))
