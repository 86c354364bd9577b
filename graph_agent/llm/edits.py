"""Edits from a model's reply, in any of the three shapes in which models can write them.

Weak models manage a whole function in a fence; stronger ones may send find/replace pairs as JSON or a whole file.
The rule: all three end as the same `Edit`, which has exactly one place in the file as it is and is never matched by
likeness; sloppiness is forgiven only where nothing can be lost by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from graph_agent.llm.ask import Fence, NotJSON, after_reasoning, fences, read_json
from graph_agent.llm.functions import Code, with_functions
from graph_agent.protocols import ToolError
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.tools.textedit import TextEdit, edited, fitted, line_end, places

EditFormat: TypeAlias = Literal["replace", "function", "file"]
EditError = ToolError
"""A proposed edit that cannot be made, as the tool that writes files would refuse it; nothing was changed."""

EXAMPLE_PATH = "prices.py"
EXAMPLE_FILE = """\
def unit_price(total, count):
    if count == 0:
        return 0
    return total * count
"""
EXAMPLE_FIXED = EXAMPLE_FILE.replace("total * count", "total / count")

_ANSWERS: dict[EditFormat, tuple[str, str]] = {
    "function": (
        """\
Answer with the whole corrected function in one ```python fence.
Write every line of it, also those that stay the same. Keep its name and its arguments.
Change as little as you can. Write a method under the line of its class.""",
        f"```python\n{EXAMPLE_FIXED}```\n",  # no path: a weak model would copy the example's
    ),
    "file": (
        """\
Answer with the whole corrected file in one ```python fence.
Write every line of it, also those that stay the same. Change as little as you can.
A comment on the first line names the file.""",
        f"```python\n# {EXAMPLE_PATH}\n{EXAMPLE_FIXED}```\n",
    ),
    "replace": (
        """\
Answer with one JSON object and nothing else: {"edits": [{"path": ..., "old": ..., "new": ...}]}.
"old" is copied from the file, blanks included, and long enough to occur only once in it; whole lines are best.
"new" is what shall stand there instead. Change as little as you can.""",
        '{"edits": [{"path": "prices.py", "old": "    return total * count", "new": "    return total / count"}]}\n',
    ),
}

_DEFINES = re.compile(r"^\s*(?:async\s+def|def)\s", re.MULTILINE)
_PYTHON = re.compile(r"$|\W*py|.*\.py", re.IGNORECASE)
_NAMED = re.compile(r"\s*#+\s*(?:(?:path|file|filename)\s*:\s*)?[`'\"]?([\w./\\+-]+\.\w+)[`'\"]?\s*:?\s*")


@dataclass(frozen=True, kw_only=True)
class Edit:
    """In `path`, the one place that reads `old` shall read `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class _Proposal:
    edits: tuple[Edit, ...]


def instructions_for(shape: EditFormat) -> str:
    """How to write the answer, with one worked example; it stands after what the node wants done."""
    rules, answer = _ANSWERS[shape]
    example = f"Example. The file {EXAMPLE_PATH}, where unit_price(10, 2) shall be 5:\n\n```python\n{EXAMPLE_FILE}```\n"
    return f"{rules}\n\n{example}\nThe answer:\n\n{answer}"


def edits_from_reply(shape: EditFormat, reply_text: str, files: Mapping[str, str]) -> tuple[Edit, ...]:
    """The edits that a reply proposes for `files` (path to text), each with its one place, or an `EditError`.

    Not for a reply that was cut: what is left of it may look whole. Look at `reply.finish` first.
    """
    if shape == "replace":
        edits = _from_json(reply_text, files)
    else:
        read = _from_functions if shape == "function" else _from_files
        try:
            texts = read(after_reasoning(reply_text), files)
        except (RecursionError, ValueError) as error:
            raise EditError("too_deep", f"the code in the answer cannot be compared: {error}.") from error
        edits = tuple(filter(None, (file_edit(path, files[path], text) for path, text in sorted(texts.items()))))
    if not edits:
        raise EditError("no_change", "the answer changes nothing: what it says stands in the files already.")
    for path in {edit.path for edit in edits}:
        apply_edits(files[path], [edit for edit in edits if edit.path == path])
    return edits


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all the edits of one file, or an `EditError` and no text: places are those of the original."""
    wanted = tuple(edits)
    return edited(text, [TextEdit(edit.old, edit.new) for edit in wanted], wanted[0].path) if wanted else text


def unique_edit(path: str, text: str, start: int, end: int, new: str) -> Edit:
    """The edit that puts `new` for `text[start:end]`, with as many whole lines around it as make it unique.

    Raises `EditError` for a file that has nothing but blanks: no piece of it can be named.
    """
    if not text.strip():
        raise EditError("empty_file", f"{path} is empty, so that no place in it can be named.")
    first = text.rfind("\n", 0, start) + 1
    last = _end_of_line(text, max(end - 1, start))
    reach = 1
    while not (text[first:last].strip() and len(places(text, text[first:last])) == 1):
        for _ in range(reach):
            first = text.rfind("\n", 0, max(first - 1, 0)) + 1
            last = _end_of_line(text, last)
        reach *= 2
    return Edit(path=path, old=text[first:last], new=text[first:start] + new + text[end:last])


def file_edit(path: str, text: str, source: str) -> Edit | None:
    """The edit that makes the whole file read `source`, from the first line that differs to the last; None for none.

    Lines that stay keep their line ends and new ones take the file's. A final line end, and a byte order mark, are as
    in the file: an answer in a fence cannot say otherwise.
    """
    whole = "\ufeff" * text.startswith("\ufeff") + source.removeprefix("\ufeff").replace("\r\n", "\n")
    target = fitted(text, whole.removesuffix("\n") + "\n" * text.endswith("\n"), line_end(text))
    head = _shared(text, target)
    tail = _shared(text[head:][::-1], target[head:][::-1])
    new = target[head : len(target) - tail]
    return unique_edit(path, text, head, len(text) - tail, new) if text != target else None


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _end_of_line(text: str, offset: int) -> int:
    return text.find("\n", offset) + 1 or len(text)


def _from_json(reply: str, files: Mapping[str, str]) -> tuple[Edit, ...]:
    try:
        proposal: _Proposal = decode(_Proposal, read_json(reply, want={"edits"}))
    except (NotJSON, CodecError) as error:
        raise EditError("not_json" if isinstance(error, NotJSON) else "not_schema", str(error)) from error
    return tuple(dict.fromkeys(replace(edit, path=_path(edit.path, files)) for edit in proposal.edits))


def _from_functions(answer: str, files: Mapping[str, str]) -> dict[str, str]:
    found = [fence for fence in fences(answer) or [Fence("", answer)] if _PYTHON.match(fence.label)]
    found = [fence for fence in found if _DEFINES.search(fence.body)]
    if not found:
        hint = "Write the whole corrected function in one ```python fence."
        raise EditError("no_function", "the answer has no fenced block with a function.", hint=hint)
    pieces = [
        Code(f"fence {number} of the answer", fence.body, path=_named_path(fence, files), piece=True)
        for number, fence in enumerate(found, 1)
    ]
    return with_functions(pieces, files)


def _from_files(answer: str, files: Mapping[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for fence in fences(answer):
        path = _named_path(fence, files) or _path("", files)
        first, _, rest = fence.body.partition("\n")
        named = _NAMED.fullmatch(first) and first.strip() not in files[path]
        body = rest if named else fence.body
        if texts.setdefault(path, body) != body:
            raise EditError("two_versions", f"the answer has two different texts for {path}.")
    if not texts:
        raise EditError("no_fence", "the answer has no fenced block.", hint="Write the whole file in one fence.")
    return texts


def _named_path(fence: Fence, files: Mapping[str, str]) -> str:
    """The path that a fence names on its first line or after the marks; a bare name that is no file's is no path."""
    written = _NAMED.fullmatch(fence.body.partition("\n")[0])
    for word in [written[1]] if written else re.split(r"[\s:=\"']+", fence.label):
        if "/" in word or (word and _meant(word, files)):
            return _path(word, files)
    return ""


def _meant(word: str, files: Mapping[str, str]) -> list[str]:
    plain = word.replace("\\", "/").removeprefix("./")
    return [plain] if plain in files else [path for path in files if f"/{path}".endswith(f"/{plain}")]


def _path(word: str, files: Mapping[str, str]) -> str:
    """The file that a word means; "" means the only one."""
    meant = _meant(word, files) if word else list(files)
    if len(meant) == 1:
        return meant[0]
    listed = ", ".join(sorted(meant or files))
    found = f"{word or 'the answer'} may mean" if meant else f"{word!r} is not a file{nearest(word, files)}: there is"
    raise EditError("unknown_file", f"{found} {listed}.", hint="Name the file as it was given.")
