"""What the output of failing tests says about the sort of bug: an exception's type, and how two values differ.

Only the relation of the values counts (off by one, other order, other case, None in place of something). The rule:
no value from a test's output ever gets into a mutant; it only moves families up or down.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .edit import Edit

_MOST_PAIRS = 20
_LONGEST = 2_000
_COMPARED = re.compile(r"(?:assert|AssertionError:)\s+(.+?)\s+(==|is|!=)\s+(.+?)\s*$", re.MULTILINE)
_DOCTEST = re.compile(r"Expected:\n\s+(.+)\nGot:\n\s+(.+)")
_EXCEPTION = re.compile(r"(?:^(?:E\s+)?| - )(?:\w+\.)*([A-Z]\w*(?:Error|Iteration))(?=:|\s*$)", re.MULTILINE)
_WORDS = {"timed out": "timeout", "maximum recursion": "RecursionError", "NoneType": "none"}

_BY_HINT: Mapping[str, Mapping[str, float]] = {
    "IndexError": {
        "offset": 2.0,
        "range": 2.0,
        "slice": 1.5,
        "comparison": 1.3,
        "base case": 2.0,
        "guard": 1.5,
        "index": 1.5,
    },
    "KeyError": {"name": 1.5, "string": 1.5, "guard": 1.5, "call": 1.3, "index": 1.5},
    "NameError": {"name": 3.0, "attribute": 1.5, "move": 1.5, "target": 2.0},
    "UnboundLocalError": {"name": 2.0, "target": 2.0, "move": 2.0, "insert": 1.5, "swap": 1.5},
    "AttributeError": {"attribute": 3.0, "call": 2.0, "guard": 2.5, "name": 1.5, "unwrap": 1.5, "wrap": 1.5},
    "TypeError": {"wrap": 1.5, "unwrap": 1.5, "name": 1.3, "arguments": 1.5, "call": 1.5, "return": 1.5, "index": 1.5},
    "ValueError": {"guard": 1.5, "base case": 1.5, "wrap": 1.3, "call": 1.3},
    "ZeroDivisionError": {"constant": 1.5, "range": 1.5, "comparison": 1.3, "base case": 1.5, "offset": 1.3},
    "RecursionError": {
        "base case": 3.0,
        "guard": 2.0,
        "operand": 1.5,
        "offset": 2.0,
        "arguments": 2.0,
        "comparison": 1.5,
        "slice": 1.5,
    },
    "StopIteration": {"guard": 1.5, "call": 1.5},
    "timeout": {
        "augmented": 1.5,
        "insert": 3.0,
        "comparison": 1.3,
        "name": 1.5,
        "offset": 1.5,
        "condition": 1.3,
        "move": 1.3,
    },
    "none": {"return": 3.0, "guard": 2.0, "move": 1.5, "unwrap": 1.3},
    "off by one": {"offset": 1.6, "constant": 1.4, "range": 1.6, "comparison": 1.4, "insert": 1.2},
    "sign": {"unary": 4.0, "operand": 1.3, "arithmetic": 1.3, "wrap": 1.3},
    "truth": {
        "comparison": 1.5,
        "condition": 1.5,
        "boolean": 1.5,
        "guard": 1.3,
        "arithmetic": 0.7,
        "augmented": 0.8,
        "slice": 0.8,
    },
    "number": {"arithmetic": 1.3, "augmented": 1.4, "operand": 1.2, "slice": 0.7, "string": 0.5},
    "order": {"operand": 2.5, "arguments": 2.0, "slice": 1.5, "wrap": 1.5, "call": 1.5, "swap": 1.5},
    "case": {"string": 1.5, "call": 2.0, "wrap": 2.0, "unwrap": 2.0},
    "length": {
        "range": 1.5,
        "slice": 1.6,
        "offset": 1.3,
        "comparison": 1.4,
        "insert": 1.5,
        "move": 1.4,
        "condition": 1.3,
        "delete": 1.3,
    },
    "text": {"string": 2.0, "slice": 1.2, "arithmetic": 0.7},
    "sort of thing": {"wrap": 2.0, "unwrap": 2.0, "return": 1.5, "name": 1.3, "call": 1.3, "arithmetic": 1.2},
}


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What is known of how the tests fail."""

    signs: frozenset[str]

    def factor(self, edit: Edit) -> float:
        """How much likelier than usual an edit is: the strongest pull up, less the strongest pull down."""
        pulls = [_BY_HINT[sign].get(edit.family, 1.0) for sign in self.signs if sign in _BY_HINT]
        return max([1.0, *pulls]) * min([1.0, *pulls])


def read_hints(output: str) -> Hints:
    """The signs in the failing tests' output."""
    signs = {name for name in _EXCEPTION.findall(output) if name in _BY_HINT}
    signs |= {sign for words, sign in _WORDS.items() if words.lower() in output.lower()}
    for got, wanted in _pairs(output):
        signs |= set(_differences(got, wanted))
    return Hints(signs=frozenset(signs))


def _pairs(output: str) -> Iterator[tuple[object, object]]:
    found = [(m.group(1), m.group(3)) for m in _COMPARED.finditer(output)]
    found += [(m.group(2), m.group(1)) for m in _DOCTEST.finditer(output)]
    for got, wanted in found[:_MOST_PAIRS]:
        try:
            yield _value(got), _value(wanted)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue


def _value(text: str) -> object:
    if len(text) > _LONGEST:
        raise ValueError("too long to be read")
    value: object = ast.literal_eval(text)
    return value


def _differences(got: object, wanted: object) -> Iterator[str]:
    if got is None and wanted is not None:
        yield "none"
    elif isinstance(got, bool) and isinstance(wanted, bool):
        yield "truth"
    elif isinstance(got, int | float) and isinstance(wanted, int | float):
        yield "number"
        if abs(got - wanted) == 1:
            yield "off by one"
        if got == -wanted and got:
            yield "sign"
    elif isinstance(got, str) and isinstance(wanted, str):
        yield "text"
        yield from _text_differences(got, wanted)
    elif type(got) is not type(wanted):
        yield "sort of thing"
    elif isinstance(got, list | tuple) and isinstance(wanted, list | tuple):
        yield from _list_differences(got, wanted)


def _text_differences(got: str, wanted: str) -> Iterator[str]:
    if got.lower() == wanted.lower():
        yield "case"
    elif sorted(got) == sorted(wanted):
        yield "order"
    elif len(got) != len(wanted):
        yield "length"


def _list_differences(
    got: list[object] | tuple[object, ...], wanted: list[object] | tuple[object, ...]
) -> Iterator[str]:
    if len(got) != len(wanted):
        yield "length"
    elif sorted(map(repr, got)) == sorted(map(repr, wanted)):
        yield "order"
    else:
        for one, other in zip(got, wanted, strict=True):
            yield from _differences(one, other) if one != other else ()
