"""Which mutant to try first: the likelihood of the edit times the suspicion of the lines that it touches.

Suspicion comes from what is known of a file's lines when tests fail. The rule: for equal edits, a line in the
traceback goes before one that only failing tests execute, then those that passing tests execute too (the fewer do, the
earlier), then the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType

from .edit import Edit, Mutant, MutationError
from .generate import as_mutant, proposals
from .hints import Hints, read_hints
from .program import Programs
from .source import Source

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
    read = read_hints(hints)
    waiting: list[tuple[float, int, int, _File | None]] = []
    opened = [_File(path, text, lines.get(path, _UNKNOWN), read) for path, text in files.items()]
    for at, unopened in enumerate(opened):
        heapq.heappush(waiting, (-unopened.bound(), at, -1, unopened))
    while waiting:
        _, at, index, file = heapq.heappop(waiting)
        if file is not None:
            scored = file.scored()
        else:
            candidate = opened[at].candidate(index)
            if candidate is not None:
                yield candidate
            scored = opened[at].ranked
        if index + 1 < len(scored):
            heapq.heappush(waiting, (-scored[index + 1][0], at, index + 1, None))


class _File:
    """One file in the queue: first by the best that can be in it, then by its next edit."""

    def __init__(self, path: str, text: str, known: Lines, hints: Hints) -> None:
        self._path, self._text, self._known, self._hints = path, text, known, hints
        self.ranked: list[tuple[float, Edit]] = []

    def bound(self) -> float:
        seen = (*self._known.failing, *self._known.traceback)
        return _NOT_BEFORE * max(map(self._known.suspicion, seen), default=_REST)

    def scored(self) -> list[tuple[float, Edit]]:
        """All edits with their scores, best first; none when the text is not Python."""
        try:
            self._source = Source(self._text)
            proposed = proposals(self._source)
        except MutationError:
            return []
        self._programs = Programs(self._source)
        scored = [(self._score(edit), edit) for edit in proposed]
        self.ranked = sorted(scored, key=lambda pair: -pair[0])
        return self.ranked

    def candidate(self, index: int) -> Candidate | None:
        score, edit = self.ranked[index]
        if not self._programs.admit(edit):
            return None
        return Candidate(path=self._path, mutant=as_mutant(self._source, edit), score=score)

    def _score(self, edit: Edit) -> float:
        return edit.weight * self._hints.factor(edit) * max(map(self._known.suspicion, self._lines(edit)))

    def _lines(self, edit: Edit) -> range:
        """The lines that an edit touches: those of its statement's own text, or of the statements that it moves."""
        source = self._source
        if edit.unit is not None:
            start, end = source.header(edit.unit)
            return range(source.line_of(start), source.line_of(max(start, end - 1)) + 1)
        return range(source.line_of(max(0, edit.start - 1)), source.line_of(max(edit.start, edit.end - 1)) + 1)
