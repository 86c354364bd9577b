"""One edit of a text, as data: which piece of which file, and what stands there afterwards.

Every shape in which a model may propose a change ends here. Where an edit belongs, and what it makes of a text, is
decided by `tools.textedit`, which also writes the files: what passes here can be made there. The rule: an edit has
exactly one place, and nothing is matched by likeness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TypeVar

from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.tools.textedit import (
    Change,
    TextEdit,
    differences,
    edited,
    fitted,
    line_end,
    line_of,
    lines_of,
    placed,
    places,
    spliced,
    with_line_ends,
)

__all__ = [
    "Change",
    "Edit",
    "EditError",
    "apply_edits",
    "edits_from_changes",
    "file_edits",
    "keeping_line_ends",
    "line_end",
    "replace_edit",
    "unique_edit",
    "with_line_ends",
]

T = TypeVar("T")


class EditError(GraphAgentError):
    """A proposed edit that cannot be made; nothing was changed.

    `kind` is a word for programs ("no_match", "ambiguous"), `message` a sentence for people and models, `lines` the
    line numbers (from 1) that the message speaks of, `hint` what to try next.
    """

    def __init__(self, kind: str, message: str, *, hint: str = "", lines: tuple[int, ...] = ()) -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.kind, self.message, self.hint, self.lines = kind, message, hint, lines


@dataclass(frozen=True, kw_only=True)
class Edit:
    """In `path`, the one place that reads `old` shall read `new`."""

    path: str
    old: str
    new: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all the edits of one file, or an `EditError` and no text: places are those of the original."""
    wanted = tuple(edits)
    paths = sorted({edit.path for edit in wanted})
    if len(paths) > 1:
        raise EditError("several_files", f"edits of {', '.join(paths)} cannot be applied to one text.")
    if not wanted:
        return text
    return _or_edit_error(lambda: edited(text, [TextEdit(edit.old, edit.new) for edit in wanted], paths[0]))


def replace_edit(path: str, text: str, old: str, new: str) -> Edit:
    """The edit that puts `new` for the one place of `text` that reads `old`.

    A line end in `old` matches whatever line end the file has there, and `new` takes the file's line ends. Raises
    `EditError` when `old` is blank, equals `new`, or occurs any other number of times than once.
    """
    change = _or_edit_error(lambda: placed(text, TextEdit(old, new), path))
    return Edit(path=path, old=text[change.start : change.end], new=change.new)


def unique_edit(path: str, text: str, start: int, end: int, new: str) -> Edit:
    """The edit that puts `new` for `text[start:end]`, with as many whole lines around it as make it unique.

    Raises `EditError` for a file that has nothing but blanks: no piece of it can be named.
    """
    first, last = _widened(path, text, start, end)
    return Edit(path=path, old=text[first:last], new=text[first:start] + new + text[end:last])


def edits_from_changes(path: str, text: str, changes: Iterable[Change]) -> tuple[Edit, ...]:
    """The edits for several changes of one file. Changes that are too close to be told apart become one edit."""
    ordered = sorted(changes, key=itemgetter(0, 1))  # two insertions at one place stay in the order given
    for before, after in pairwise(ordered):
        if after.start < before.end:
            raise EditError("overlap", f"two changes of {path} overlap on line {line_of(text, after.start)}.")
    groups: list[tuple[int, int, list[Change]]] = []
    for change in ordered:
        first, last = _widened(path, text, change.start, change.end)
        group = [change]
        while groups and first < groups[-1][1]:  # the lines around two neighbours may be the same lines
            earlier = groups.pop()
            first, last, group = min(first, earlier[0]), max(last, earlier[1]), earlier[2] + group
        groups.append((first, last, group))
    return tuple(Edit(path=path, old=text[a:b], new=spliced(text, group, a, b)) for a, b, group in groups)


def file_edits(path: str, text: str, source: str) -> tuple[Edit, ...]:
    """The edits that make the whole file read `source`; lines that stay keep their line ends, new ones take the file's.

    A final line end, and a byte order mark, are as in the file: an answer in a fence cannot say otherwise.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    target = keeping_line_ends(text, mark + source.removeprefix("\ufeff"), text)
    if target == text:
        raise EditError("no_change", f"the new text of {path} is what the file already says.")
    old, new = lines_of(text), lines_of(target)
    starts = [0, *accumulate(map(len, old))]
    return edits_from_changes(
        path, text, (Change(starts[a], starts[b], "".join(new[c:d])) for a, b, c, d in differences(old, new))
    )


def keeping_line_ends(before: str, after: str, text: str) -> str:
    """`after`, where lines that `before` has too keep their line ends, and new ones take those of the whole `text`.

    It ends in a line end if `before` does.
    """
    whole = with_line_ends(after, "\n").removesuffix("\n") + "\n" * before.endswith("\n")
    return fitted(before, whole, line_end(text))


def _or_edit_error(find: Callable[[], T]) -> T:
    try:
        return find()
    except ToolError as error:
        raise EditError(error.kind, error.message, hint=error.hint, lines=error.lines) from error


def _widened(path: str, text: str, start: int, end: int) -> tuple[int, int]:
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
    return first, last


def _end_of_line(text: str, offset: int) -> int:
    feed = text.find("\n", offset)
    return len(text) if feed < 0 else feed + 1
