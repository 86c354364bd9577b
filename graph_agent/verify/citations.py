"""Citation marks in a text: which pieces of evidence it names, and which marks are none though they look like it.

The rule: a mark is read exactly or not at all. Code is no citation: `row[E2]` in a code span or block is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMS = "[E3], [E1][E2], [E1, E2], [E1-E3]"
"""The marks that are understood; a number has no leading zero."""

_BLOCK = (
    r"^[ \t]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,5}(?!~))[^\n]*"
    r"(?:\n(?![ \t]*(?P=fence)[`~]*[ \t\r]*$)[^\n]*)*(?:\n[^\n]*)?"
)
_SPAN = r"(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n[ \t\r]*\n)[\s\S])+?(?<!`)(?P=ticks)(?!`)"
_CODE = re.compile(rf"{_BLOCK}|{_SPAN}", re.MULTILINE)
_ID = r"E[1-9]\d{0,6}"
_ITEM = rf"{_ID}(?:\s?[-\u2013]\s?{_ID})?"
_MARK = re.compile(rf"\[({_ITEM}(?:\s?[,;]\s?{_ITEM})*)\]", re.ASCII)
_LIKE_AN_ID = r"(?:\bE[ \t._-]{0,2}\d+[a-z]?|\be[ \t]?\d+)\b"
_LIKE_A_MARK = re.compile(
    rf"\[[^\[\]\n]{{0,40}}?{_LIKE_AN_ID}[^\[\]\n]{{0,40}}\]|\[\^?\s*{_LIKE_AN_ID}[^\[\]\n]{{0,20}}"
    rf"|[\u3010\uff3b]\s*{_LIKE_AN_ID}[^\u3011\uff3d\n]{{0,20}}[\u3011\uff3d]?"
    rf"|[(\uff08]\s*E\d+(?:\s*[-\u2013,;\uff0c\u3001]\s*E?\d+)*\s*[)\uff09]|\[(?i:evidence|source) ?\d+\]"
)
_MOST_IN_A_RANGE = 100


@dataclass(frozen=True, kw_only=True)
class Marks:
    """`ids` in order of their first mention; `malformed`: what looks like a mark and is none, as it stands."""

    ids: tuple[str, ...]
    malformed: tuple[str, ...]

    def unknown(self, known: frozenset[str] | set[str]) -> tuple[str, ...]:
        """Those that name no evidence."""
        return tuple(one for one in self.ids if one not in known)


def marks(text: str) -> Marks:
    """All citation marks of a text."""
    plain = without_code(text)
    ids: dict[str, None] = {}
    malformed: list[str] = []
    for found in _LIKE_A_MARK.finditer(plain):
        exact = _MARK.fullmatch(found[0])
        items = _ids_of(exact[1]) if exact else None
        if items is None:
            malformed.append(text[found.start() : found.end()].strip())
        else:
            ids.update(dict.fromkeys(items))
    return Marks(ids=tuple(ids), malformed=tuple(malformed))


def without_marks(text: str) -> str:
    """The text less its marks, and less the blank before each. What is malformed stays."""
    kept, at = [], 0
    kept_code = _CODE.sub(lambda code: re.sub(r"[^\n]", "`", code[0]), text)
    for found in re.finditer(rf"[ \t]*{_MARK.pattern}", kept_code, re.ASCII):
        if _ids_of(found[1]) is not None:
            kept.append(text[at : found.start()])
            at = found.end()
    left = "".join([*kept, text[at:]])
    return without_marks(left) if at else left  # what stood around one may be one now


def without_code(text: str) -> str:
    """The text with blanks in the place of code spans and blocks, so that each line stays where it is."""
    return _CODE.sub(_blank, text)


def without_blocks(text: str) -> str:
    """The same for fenced blocks alone. One that is never closed goes to the end."""
    return _CODE.sub(lambda found: _blank(found) if found["fence"] else found[0], text)


def code_blocks(text: str) -> list[str]:
    """What stands in fenced blocks."""
    found = [block for block in _CODE.finditer(text) if block["fence"]]
    inner = ((block["fence"], block[0].split("\n")[1:]) for block in found)
    return ["\n".join(one[:-1] if one and one[-1].strip().startswith(fence) else one) for fence, one in inner]


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _ids_of(listed: str) -> list[str] | None:
    """The ids of one mark, ranges written out; None for a range that runs backwards or is endless."""
    ids: list[str] = []
    for item in re.split(r"[,;]", listed):
        first, *last = (int(number) for number in re.findall(r"\d+", item))
        end = last[0] if last else first
        if not first <= end < first + _MOST_IN_A_RANGE:
            return None
        ids += [f"E{number}" for number in range(first, end + 1)]
    return ids
