"""All mutants of one source text, from all families.

The families propose, this module sorts, and `Programs` lets each new program through once. The rule: the order
depends on the source alone, so that two runs try the same things in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import calls, conditions, constants, flow, missing, names, offsets, operators, statements
from .edit import Edit, Family, Mutant
from .program import Programs
from .source import Source

FAMILIES: tuple[Family, ...] = (
    *operators.FAMILIES,
    *constants.FAMILIES,
    *names.FAMILIES,
    *calls.FAMILIES,
    *offsets.FAMILIES,
    *conditions.FAMILIES,
    *statements.FAMILIES,
    *flow.FAMILIES,
    *missing.FAMILIES,
)


def mutants(source: str, *, within: tuple[int, int] | None = None) -> Iterator[Mutant]:
    """Every one-edit mutant, line by line, the likeliest first within a line.

    Each parses, differs from the source and from every other one as a tree. `within` is a range of lines, both ends
    included. Raises `MutationError` at once when the source does not parse.
    """
    return _new_ones(Source(source), within or (1, source.count("\n") + source.count("\r") + 1))


def proposals(source: Source) -> list[Edit]:
    """What all families propose, unchecked, with a weight above zero."""
    return [edit for family in FAMILIES for edit in family(source) if edit.weight > 0]


def as_mutant(source: Source, edit: Edit) -> Mutant:
    line = source.line_of(edit.start)
    return Mutant(start=edit.start, end=edit.end, new=edit.new, family=edit.family, line=line, why=edit.why)


def _new_ones(source: Source, within: tuple[int, int]) -> Iterator[Mutant]:
    programs = Programs(source)
    edits = [edit for edit in proposals(source) if within[0] <= source.line_of(edit.start) <= within[1]]
    for edit in sorted(edits, key=lambda e: (source.line_of(e.start), -e.weight)):
        if programs.admit(edit):
            yield as_mutant(source, edit)
