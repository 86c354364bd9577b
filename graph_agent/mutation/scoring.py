"""All mutants of a text, each program once, and which to try first: likely edits to suspicious lines.

Suspicion comes from what is known of a file's lines when tests fail, likelihood from the edit and from the failing
tests' output. The rule: for equal edits, a line in the traceback goes before one that only failing tests execute, then
those that passing tests execute too (the fewer do, the earlier), then the rest. No value from a test's output ever gets
into a mutant.
"""

from __future__ import annotations

import ast
import heapq
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType
from typing import TypeAlias

from . import conditions, names, operators, statements, updates
from .scope import Code
from .source import Edit, Mutant, MutationError, Source, parsed
from .statements import lines_of, stands_alone

_LAST_FRAME, _TRACEBACK, _ONLY_FAILING, _SHARED, _REST = 4.0, 3.0, 2.0, 1.3, 0.05
_NOT_BEFORE = 3.0  # no weight times a hint's factor is taken to be above this when a file waits to be looked at


@dataclass(frozen=True, kw_only=True)
class Lines:
    """What is known of one file's lines, counted from 1.

    `failing` and `passing` are the lines that failing and passing tests execute; `traceback` those of the failing
    tests' tracebacks, the innermost frame last. `failing_tests` and `passing_tests` say how many tests execute a line,
    one where they don't say it, and `failed` how many failed in all.
    """

    failing: frozenset[int] = frozenset()
    passing: frozenset[int] = frozenset()
    traceback: tuple[int, ...] = ()
    failing_tests: Mapping[int, int] = field(default_factory=dict)
    passing_tests: Mapping[int, int] = field(default_factory=dict)
    failed: int = 1

    def suspicion(self, line: int) -> float:
        """How much likelier than another line this one is to hold the bug, as a factor."""
        if line in self.traceback:
            return _LAST_FRAME if line == self.traceback[-1] else _TRACEBACK
        if line not in self.failing:
            return _REST
        if line not in self.passing:
            return _ONLY_FAILING
        return _REST + _SHARED * self._ochiai(line)

    def _ochiai(self, line: int) -> float:
        """f / sqrt(F * (f + p)), for f of F failing and p passing tests that execute the line: from 0 to 1.

        Ochiai's coefficient as it is used to locate faults: Abreu, Zoeteweij and van Gemund, "An Evaluation of
        Similarity Coefficients for Software Fault Localization" (2006), "On the Accuracy of Spectrum-based Fault
        Localization" (2007).
        """
        failing, passing = self.failing_tests.get(line, 1), self.passing_tests.get(line, 1)
        return failing / sqrt(max(self.failed, failing) * (failing + passing))


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A mutant of one of several files, and why it comes where it comes."""

    path: str
    mutant: Mutant
    score: float


_NOTHING_KNOWN: Mapping[str, Lines] = MappingProxyType({})
_UNKNOWN = Lines()


def candidates(
    files: Mapping[str, str], *, lines: Mapping[str, Lines] = _NOTHING_KNOWN, hints: str = ""
) -> Iterator[Candidate]:
    """The mutants of several files, the most promising first.

    `files` is path -> text; a file that is not Python is skipped. `lines` is path -> what is known of its lines.
    `hints` is the failing tests' output. A file is parsed only when its turn comes.
    """
    signs = read_hints(hints)
    streams = [_ranked(path, text, lines.get(path, _UNKNOWN), signs) for path, text in files.items()]
    for _, candidate in heapq.merge(*streams, key=lambda pair: -pair[0]):
        if candidate is not None:
            yield candidate


def _ranked(path: str, text: str, known: Lines, signs: frozenset[str]) -> Iterator[tuple[float, Candidate | None]]:
    """One file's candidates with their scores, best first; before them, and unread, the best that there can be."""
    seen = (*known.failing, *known.traceback)
    yield _NOT_BEFORE * max(map(known.suspicion, seen), default=_REST), None
    try:
        programs = Programs(text)
    except MutationError:
        return
    source = programs.source
    scored = [
        (edit.weight * factor(signs, edit.family) * max(map(known.suspicion, _lines(source, edit))), edit)
        for edit in programs.edits
    ]
    for score, edit in sorted(scored, key=lambda pair: -pair[0]):
        if programs.admit(edit):
            yield score, Candidate(path=path, mutant=source.mutant(edit), score=score)


def _lines(source: Source, edit: Edit) -> range:
    """The lines that an edit touches: those of its statement's own text, or of the statements that it moves."""
    start, end = (max(0, edit.start - 1), edit.end) if edit.unit is None else source.header(edit.unit)
    return range(source.line_of(start), source.line_of(max(start, edit.start, end - 1)) + 1)


_MOST_PAIRS = 20
_LONGEST = 2_000
_COMPARED = re.compile(r"(?:assert|AssertionError:)\s+(.+?)\s+(?:==|is|!=)\s+(.+?)\s*$", re.MULTILINE)
_EXCEPTION = re.compile(r"(?:^(?:E\s+)?| - )(?:\w+\.)*([A-Z]\w*(?:Error|Iteration))(?=:|\s*$)", re.MULTILINE)
_WORDS = {"timed out": "timeout", "maximum recursion": "RecursionError", "nonetype": "none"}

# The families that a sign makes likelier.
_POINTS_TO = {
    "IndexError": "offset, range, base case, slice, guard",
    "KeyError": "name, string, guard, call",
    "NameError": "name, target, attribute, move",
    "UnboundLocalError": "name, target, move, insert, swap",
    "AttributeError": "attribute, guard, call, name, unwrap, wrap",
    "TypeError": "wrap, unwrap, arguments, call, return, name",
    "ValueError": "guard, base case, wrap, call",
    "ZeroDivisionError": "constant, range, base case, comparison, offset",
    "RecursionError": "base case, guard, offset, arguments, operand, slice",
    "timeout": "insert, augmented, name, offset, comparison, condition",
    "none": "return, guard, move, unwrap",
    "off by one": "offset, range, constant, comparison",
    "sign": "unary, operand",
    "truth": "comparison, condition, boolean, guard",
    "number": "augmented, arithmetic, operand",
    "order": "operand, arguments, slice, wrap, call, swap",
    "case": "call, wrap, unwrap, string",
    "length": "slice, range, insert, comparison, move, delete",
    "text": "string",
    "sort of thing": "wrap, unwrap, return, name, call",
}


def read_hints(output: str) -> frozenset[str]:
    """The signs in the failing tests' output."""
    signs = {name for name in _EXCEPTION.findall(output) if name in _POINTS_TO}
    signs |= {sign for words, sign in _WORDS.items() if words in output.lower()}
    for pair in _COMPARED.findall(output)[:_MOST_PAIRS]:
        if max(map(len, pair)) <= _LONGEST:
            try:
                got, wanted = map(ast.literal_eval, pair)
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
            signs |= set(_differences(got, wanted))
    return frozenset(signs)


def factor(signs: frozenset[str], family: str) -> float:
    """How much likelier than usual a family is."""
    return 1.6 if any(family in _POINTS_TO[sign].split(", ") for sign in signs) else 1.0


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
    elif type(got) is not type(wanted):
        yield "sort of thing"
    elif isinstance(got, str | list | tuple) and isinstance(wanted, str | list | tuple):
        if isinstance(got, str):
            yield "text"
        if str(got).lower() == str(wanted).lower():
            yield "case"
        elif sorted(map(repr, got)) == sorted(map(repr, wanted)):
            yield "order"
        elif len(got) != len(wanted):
            yield "length"
        elif not isinstance(got, str):
            for one, other in zip(got, wanted, strict=True):
                yield from _differences(one, other) if one != other else ()


Family: TypeAlias = Callable[[Code], Iterator[Edit]]

_FAMILIES: tuple[Family, ...] = (
    *operators.FAMILIES,
    *names.FAMILIES,
    *conditions.FAMILIES,
    *statements.FAMILIES,
    *updates.FAMILIES,
)


def mutants(
    source: str, *, within: tuple[int, int] | None = None, families: Iterable[Family] = _FAMILIES
) -> Iterator[Mutant]:
    """Every one-edit mutant, line by line, the likeliest first within a line.

    Each parses, differs from the source and from every other one as a tree. `within` is a range of lines, both ends
    included; `families` are the functions that propose edits. Raises `MutationError`, when called and not later, for a
    source that does not parse.
    """
    programs = Programs(source, families)
    read = programs.source
    first, last = within or (1, read.line_of(len(read.text)))
    edits = [(read.line_of(edit.start), edit) for edit in programs.edits]
    chosen = sorted((pair for pair in edits if first <= pair[0] <= last), key=lambda pair: (pair[0], -pair[1].weight))
    return (read.mutant(edit) for _, edit in chosen if programs.admit(edit))


class Programs:
    """What the families propose for a source, and what was let through of it."""

    def __init__(self, text: str, families: Iterable[Family] = _FAMILIES) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in the source are the concern of those who run it
            try:
                self.source = Code(text)
                self.edits = [edit for family in families for edit in family(self.source) if edit.weight > 0]
                self._dumps = [ast.dump(statement) for statement in self.source.tree.body]
            except RecursionError as error:
                raise MutationError(
                    "the source does not parse or can't be looked through: it is nested too deeply. Split its longest "
                    "expression, or raise the limit with sys.setrecursionlimit"
                ) from error
        self._seen = {hash(tuple(self._dumps))}

    def admit(self, edit: Edit) -> bool:
        """Whether the edit gives a program that is not the source and was not admitted before."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant's odd escapes and `is` with numbers are nobody's concern
            try:
                key = hash(tuple(self._changed(edit)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return False
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _changed(self, edit: Edit) -> list[str]:
        """The dumps of the changed program's top statements: parsed anew where the edit is, kept elsewhere."""
        source, dumps, low, high = self.source, self._dumps, 0, len(self.source.text)
        before, behind = dumps[:0], dumps[:0]
        for at, statement in enumerate(source.tree.body):
            start, end = lines_of(source, statement)
            inside = start <= edit.start - (edit.unit is None) and edit.end <= end
            if inside and stands_alone(source, statement):
                before, behind, low, high = dumps[:at], dumps[at + 1 :], start, end
        tree = parsed(source.text[low : edit.start] + edit.new + source.text[edit.end : high])
        compile(tree, "mutant", "exec", dont_inherit=True)  # refuses what only parses: a `break` outside a loop
        return [*before, *map(ast.dump, tree.body), *behind]
