"""One edit of a text, as data: which piece of which file, and what stands there afterwards.

Every shape in which a model may propose a change ends here. The rule: `old` occurs exactly once in the file (overlaps
count as two), nothing is matched by likeness, and outside the edited piece the file keeps every byte, line ends too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple

from graph_agent.protocols import GraphAgentError


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
    """In `path`, the one place that reads `old` shall read `new`. Both are as in the file, line ends included."""

    path: str
    old: str
    new: str


class Change(NamedTuple):
    """`text[start:end]` shall read `new`: an edit by position, before it is made independent of position."""

    start: int
    end: int
    new: str


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
    return tuple(Edit(path=path, old=text[a:b], new=_replaced(text, a, b, group)) for a, b, group in groups)


def replace_edit(path: str, text: str, old: str, new: str) -> Edit:
    """The edit that puts `new` for the one place of `text` that reads `old`.

    A line end in `old` matches whatever line end the file has there, and `new` takes the file's line ends. Raises
    `EditError` when `old` is blank, equals `new`, or occurs any other number of times than once.
    """
    if not old.strip():
        raise EditError(
            "empty_old", f"an edit of {path} does not say which text it replaces.", hint="Quote whole lines."
        )
    start, end = _only_place(path, text, old)
    fitted = with_line_ends(new, _line_end_at(text, start, end))
    if text[start:end] == fitted:
        at = line_of(text, start)
        raise EditError("no_change", f"an edit of {path} changes nothing: old and new are equal.", lines=(at,))
    return Edit(path=path, old=text[start:end], new=fitted)


def file_edits(path: str, text: str, source: str) -> tuple[Edit, ...]:
    """The edits that make the whole file read `source`; lines that stay keep their line ends, new ones take the file's.

    A final line end, and a byte order mark, are as in the file: an answer in a fence cannot say otherwise.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    target = keeping_line_ends(text, mark + source.removeprefix("\ufeff"), text)
    if target == text:
        raise EditError("no_change", f"the new text of {path} is what the file already says.")
    old, new = text.splitlines(keepends=True), target.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, old))]
    return edits_from_changes(
        path, text, (Change(starts[a], starts[b], "".join(new[c:d])) for a, b, c, d in _differences(old, new))
    )


def keeping_line_ends(before: str, after: str, text: str) -> str:
    """`after`, where lines that `before` has too keep their line ends, and new ones take those of the whole `text`."""
    wanted = with_line_ends(after, "\n").removesuffix("\n")
    bare = before.replace("\r\n", "\n")
    wanted += "\n" * bare.endswith("\n")
    if "\r\n" not in text:
        return wanted
    old, new = before.splitlines(keepends=True), wanted.splitlines(keepends=True)
    kept, at = [], 0
    for a, b, c, d in _differences(bare.splitlines(keepends=True), new):
        kept += [*old[at:a], with_line_ends("".join(new[c:d]), line_end(text))]
        at = b
    return "".join([*kept, *old[at:]])


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all the edits of one file, or an `EditError` and no text: places are those of the original."""
    wanted = tuple(edits)
    paths = sorted({edit.path for edit in wanted})
    if len(paths) > 1:
        raise EditError("several_files", f"edits of {', '.join(paths)} cannot be applied to one text.")
    changes = [_located(text, edit) for edit in wanted]
    for before, after in pairwise(sorted(changes)):
        if after.start < before.end:
            at = (line_of(text, before.start), line_of(text, after.start))
            found = f"two edits of {paths[0]} overlap, on line {at[1]}."
            raise EditError("overlap", found, hint="Make them one edit.", lines=at)
    return _replaced(text, 0, len(text), sorted(changes))


def line_of(text: str, offset: int) -> int:
    """The number of the line (from 1) on which `text[offset]` stands."""
    return text.count("\n", 0, offset) + 1


def line_end(text: str) -> str:
    """The line end that is commoner in the text."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"


def with_line_ends(text: str, end: str) -> str:
    """The same lines, each ended by `end`."""
    lines = text.replace("\r\n", "\n")
    return lines if end == "\n" else lines.replace("\n", end)


def _differences(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where two lists of lines differ: old[a:b] became new[c:d]."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return ((a, b, c, d) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal")


def _replaced(text: str, start: int, end: int, changes: Iterable[Change]) -> str:
    pieces, at = [], start
    for change in changes:
        pieces += [text[at : change.start], change.new]
        at = change.end
    return "".join([*pieces, text[at:end]])


def _line_end_at(text: str, start: int, end: int) -> str:
    feed = text.find("\n", start, end)
    if feed < 0:
        return line_end(text)
    return "\r\n" if text.startswith("\r\n", max(feed - 1, 0)) else "\n"


def _located(text: str, edit: Edit) -> Change:
    places = list(_occurrences(text, edit.old)) if edit.old else []
    if len(places) != 1:
        raise _ambiguous(edit.path, text, places) if places else _no_match(edit.path, text, edit.old)
    return Change(places[0], places[0] + len(edit.old), edit.new)


def _widened(path: str, text: str, start: int, end: int) -> tuple[int, int]:
    if not text.strip():
        raise EditError("empty_file", f"{path} is empty, so that no place in it can be named.")
    first = text.rfind("\n", 0, start) + 1
    last = _end_of_line(text, max(end - 1, start))
    reach = 1
    while not (text[first:last].strip() and _occurs_once(text, text[first:last])):
        for _ in range(reach):
            first = text.rfind("\n", 0, max(first - 1, 0)) + 1
            last = _end_of_line(text, last)
        reach *= 2
    return first, last


def _end_of_line(text: str, offset: int) -> int:
    feed = text.find("\n", offset)
    return len(text) if feed < 0 else feed + 1


def _occurs_once(text: str, piece: str) -> bool:
    at = text.find(piece)
    return at >= 0 and text.find(piece, at + 1) < 0


def _occurrences(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


def _only_place(path: str, text: str, old: str) -> tuple[int, int]:
    plain, wanted = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    places = list(_occurrences(plain, wanted)) if wanted else []
    if len(places) != 1:
        raise _ambiguous(path, plain, places) if places else _no_match(path, plain, wanted)
    removed = [at - number for number, at in enumerate(_occurrences(text, "\r\n"))]  # where a CR stood, in `plain`
    start, end = places[0], places[0] + len(wanted)
    return start + bisect_left(removed, start), end + bisect_left(removed, end)


def _ambiguous(path: str, text: str, places: list[int]) -> EditError:
    lines = tuple(line_of(text, at) for at in places[:20])
    said = f"the text to replace occurs {len(places)} times in {path}, on lines {', '.join(map(str, lines))}"
    return EditError(
        "ambiguous", f"{said}{' ...' * (len(places) > 20)}.", hint="Quote more lines around it.", lines=lines
    )


def _no_match(path: str, text: str, old: str) -> EditError:
    lines = text.split("\n")
    numbers = _closest(lines, [line for line in old.splitlines() if line.strip()])
    quoted = "; ".join(f"{number}: {lines[number - 1][:120]!r}" for number in numbers)
    hint = f"The closest lines are {quoted}." if quoted else "No line of it is like that text."
    return EditError("no_match", f"the text to replace does not occur in {path}.", hint=hint, lines=numbers)


def _closest(lines: list[str], wanted: list[str]) -> tuple[int, ...]:
    """The numbers of at most three lines that a writer of `wanted` may have meant."""
    bare = ["".join(line.split()) for line in lines]
    sought = ["".join(line.split()) for line in wanted]
    known = set(bare)
    missing = [line for line in sought if line not in known] or sought
    found: list[int] = []
    for line in missing[:3]:
        close = get_close_matches(line, [other for other in known if other], n=1, cutoff=0.6)
        found += [number for number, other in enumerate(bare, 1) if other in close]
    return tuple(sorted(set(found)))[:3]
