"""All mutants of one source text, from all families.

The families propose, this module sorts, and `Programs` lets each new program through once. The rule: the order
depends on the source alone, so that two runs try the same things in the same order.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from . import (
    bases,
    calls,
    conditions,
    constants,
    exchange,
    flow,
    missing,
    names,
    offsets,
    operators,
    statements,
    updates,
    wraps,
)
from .edit import Edit, Family, Mutant, MutationError
from .program import Programs
from .source import Source

FAMILIES: tuple[Family, ...] = (
    *operators.FAMILIES,
    *constants.FAMILIES,
    *names.FAMILIES,
    *exchange.FAMILIES,
    *calls.FAMILIES,
    *wraps.FAMILIES,
    *offsets.FAMILIES,
    *conditions.FAMILIES,
    *statements.FAMILIES,
    *flow.FAMILIES,
    *bases.FAMILIES,
    *missing.FAMILIES,
    *updates.FAMILIES,
)

# The weights say how likely an edit is among those of its family. These few are for families as a whole: where there
# are many places and many choices most proposals are wrong, and where there are few they are mostly to the point.
PRIORS = {"name": 0.7, "wrap": 0.7, "index": 0.7, "swap": 0.7, "insert": 1.4, "return": 1.2, "boolean": 1.2}


def mutants(source: str, *, within: tuple[int, int] | None = None) -> Iterator[Mutant]:
    """Every one-edit mutant, line by line, the likeliest first within a line.

    Each parses, differs from the source and from every other one as a tree. `within` is a range of lines, both ends
    included. Raises `MutationError`, when called and not later, for a source that does not parse.
    """
    read = Source(source)
    first, last = within or (1, read.line_of(len(source)))
    edits = [(read.line_of(edit.start), edit) for edit in proposals(read)]
    chosen = sorted((pair for pair in edits if first <= pair[0] <= last), key=lambda pair: (pair[0], -pair[1].weight))
    programs = Programs(read)
    return (as_mutant(read, edit) for _, edit in chosen if programs.admit(edit))


def proposals(source: Source) -> list[Edit]:
    """What all families propose, unchecked, with a weight above zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in the source are the concern of those who run it
        try:
            edits = [edit for family in FAMILIES for edit in family(source) if edit.weight > 0]
        except RecursionError as error:
            raise MutationError(
                "the source is nested too deeply to be looked through. Split its longest expression, or raise "
                "the limit with sys.setrecursionlimit"
            ) from error
    return [edit._replace(weight=edit.weight * PRIORS.get(edit.family, 1.0)) for edit in edits]


def as_mutant(source: Source, edit: Edit) -> Mutant:
    line = source.line_of(edit.start)
    return Mutant(start=edit.start, end=edit.end, new=edit.new, family=edit.family, line=line, why=edit.why)
