"""The first and cheapest layer: has a result the form that it must have, whatever it says?

The rule: code alone decides, and what fails here is not looked at any further.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from graph_agent.verify.citations import FORMS
from graph_agent.verify.statements import own_words, statements

LEAST = 20
"""Characters. Less is no answer that could carry a citation."""

_STAND_IN = re.compile(
    r"\b(?:lorem ipsum|to be (?:done|determined|added)|tbd|tbc|your (?:text|answer) here|insert \w+ here)\b"
    r"|(?-i:\bTO" + r"DO\b|\bFIX" + r"ME\b|\bXXX+\b)|<(?:answer|text|insert|citation)[^>]*>"
    r"|\[(?:citation needed|source|insert[^\]]*|\.\.\.)\]"
    r"|\u5f85\u8865\u5145|\u6b64\u5904\u586b\u5199|\u5360\u4f4d(?!\u7b26)",
    re.IGNORECASE,
)  # fmt: skip


def structure_problems(text: str) -> tuple[str, ...]:
    """What is wrong with the form of a result; each says what to do."""
    return tuple(_problems(text))


def _problems(text: str) -> Iterator[str]:
    bare = text.strip()
    if len(bare) < LEAST:
        yield f"the result has {len(bare)} characters: write at least {LEAST}"
        return
    if found := _STAND_IN.search(own_words(bare)):  # a source may well say so
        yield f"the result has a stand-in, {found[0]!r}: write what belongs there, or say INSUFFICIENT and why"
    said = statements(text)
    if not said:
        yield "the result makes no statement: write sentences, each with its citation"
    for one in said:
        if one.malformed:
            yield f"{one.malformed[0]!r} is no citation: write {FORMS}"
        elif not one.cites:
            yield f"no citation stands with {_short(one.text)!r}: add the evidence that it rests on, such as [E1]"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
