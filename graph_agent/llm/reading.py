"""From the text of a reply to the JSON in it, whatever the model wrote around it.

The whole text is tried first, then fences, then objects within prose, always after a block of reasoning is taken off.
The rule: nothing is repaired that could change the meaning, and of two different answers none is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator

from graph_agent.llm.errors import NotJSON
from graph_agent.llm.wrapping import after_reasoning, fences
from graph_agent.protocols import Json
from graph_agent.runtime import jsontext
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.quoting import quote

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*"?)|(?<![\[{,:\s])(\s*),(?=\s*[\]}])', re.DOTALL)
_BEGINS_LIKE_JSON = re.compile(r'\{\s*(?:["\'}]|\w+\s*:)|\[\s*(?:["\'{\[\]\d-]|true\b|false\b|null\b)')
_TOO_DEEP = -1
_OPENING = re.compile(r"[{\[]")
_CLOSERS = {"{": "}", "[": "]"}


def read_json(text: str, *, want: Collection[str] = ()) -> Json:
    """The JSON data in a reply. Within prose, `want` tells the object that has these keys from any other.

    The only repairs are a byte order mark before and a comma before a closing bracket. Raises `NotJSON`.
    """
    answer = _bare(after_reasoning(text))
    if not answer:
        raise NotJSON("the reply is nothing but reasoning" if _bare(text) else "the reply is empty", raw=text)
    whole, broken = _values([_bare(text), answer], text)
    if whole:
        return whole[0]
    fenced, broken_fenced = _values(_fenced(answer), text)
    if broken_fenced:
        raise NotJSON(f"the fenced JSON is broken: {broken_fenced[0]}", raw=text)
    loose, broken_loose = _values(_spans(answer), text)
    for values in (fenced, loose):
        fitting = _distinct(value for value in values if _fits(value, want))
        if len(fitting) > 1:
            raise NotJSON(f"the reply has {len(fitting)} different JSON answers; exactly one is wanted", raw=text)
        if fitting:
            return fitting[0]
    if len(_distinct(fenced)) == 1:  # it is what the model means as its answer: what is missing there is said elsewhere
        return fenced[0]
    raise NotJSON(_complaint(answer, want, loose, broken_loose or broken), raw=text)


def _bare(text: str) -> str:
    return text.strip("\ufeff \t\r\n")


def _values(sources: Iterable[str], text: str) -> tuple[list[Json], list[str]]:
    """What can be read of the sources, and what is wrong with the others."""
    values: list[Json] = []
    broken: list[str] = []
    for source in sources:
        try:
            values.append(_loads(source, text))
        except CodecError as error:
            broken.append(str(error))
    return values, broken


def _loads(source: str, text: str) -> Json:
    if source not in text:
        raise CodecError("", "a reasoning tag stands within the JSON")
    try:
        return jsontext.loads(source)
    except CodecError:
        repaired = _TRAILING_COMMA.sub(lambda match: match[2] if match[1] is None else match[1], source)
        if repaired == source:
            raise
        return jsontext.loads(repaired)


def _fenced(answer: str) -> Iterator[str]:
    """The fences that are meant as JSON, also when they are broken, and those that happen to be JSON."""
    for fence in fences(answer):
        body = _bare(fence.body)
        meant = fence.label.lower().startswith("json") or (not fence.label and _BEGINS_LIKE_JSON.match(body))
        if meant or isinstance(next(iter(_values([body], answer)[0]), None), dict | list):
            yield body


def _spans(answer: str) -> Iterator[str]:
    """The outermost bracketed pieces of prose. One that is never closed takes all that follows with it:

    an object within a broken object is not the answer. Only a bracket that does not begin like JSON is prose.
    """
    at = 0
    while opening := _OPENING.search(answer, at):
        start = opening.start()
        end = _closing(answer, start)
        if end == _TOO_DEEP or (end is None and _BEGINS_LIKE_JSON.match(answer, start)):
            yield answer[start:]
            return
        at = end or start + 1
        if end:
            yield answer[start:end]


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed again, looking past strings; None when it is not."""
    expected: list[str] = []
    for token in _TOKEN.finditer(text, start):
        bracket = token.group()
        if bracket in _CLOSERS:
            expected.append(_CLOSERS[bracket])
        elif bracket[0] != '"' and bracket != expected.pop():
            return None
        if not expected:
            return token.end()
        if len(expected) > jsontext.DEEPEST:
            return _TOO_DEEP
    return None


def _fits(value: Json, want: Collection[str]) -> bool:
    return not want or (isinstance(value, dict) and all(key in value for key in want))


def _distinct(values: Iterable[Json]) -> list[Json]:
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())


def _complaint(answer: str, want: Collection[str], loose: list[Json], broken: list[str]) -> str:
    if loose:
        keys = sorted({key for value in loose if isinstance(value, dict) for key in value})
        return (
            f"no JSON object in the reply has all of the keys {', '.join(sorted(want))}; found {', '.join(keys[:20])}"
        )
    if _OPENING.search(answer):
        return f"the reply has no valid JSON: {broken[0]}"
    return f"there is no JSON in the reply, which begins {quote(answer)}"
