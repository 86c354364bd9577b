"""Two names that are mixed up with each other: all through one statement, or as the indices of one element.

A slip of this sort touches several places at once, and a change of one place alone does not mend it. The rule: the
two stand in the same statement already, and seem to hold the same sort of thing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from .edit import Edit
from .kinds import alike
from .scope import Scopes
from .source import Source
from .write import short, swap

_MOST_PAIRS = 15


def indices(source: Source) -> Iterator[Edit]:
    """`grid[i][j]` becomes `grid[j][i]`."""
    for node in source.of(ast.Subscript):
        inner = node.value
        if isinstance(inner, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Constant):
            yield swap(source, inner.slice, node.slice, "arguments", 0.25)


def names_in_a_statement(source: Source) -> Iterator[Edit]:
    """Two variables change places wherever one simple statement or condition reads them."""
    scopes = Scopes.of(source)
    for unit, names in _read_by_unit(source).items():
        first_of = {name.id: name for name in reversed(names)}
        pairs = list(combinations(sorted(first_of, key=lambda name: source.span(first_of[name])), 2))[:_MOST_PAIRS]
        for one, other in pairs:
            there, here = scopes.find(first_of[one], one), scopes.find(first_of[other], other)
            if there and here and alike(there.known, here.known) > 0.5:
                yield _exchanged(source, unit, names, one, other, 0.2 / len(pairs))


def _read_by_unit(source: Source) -> dict[ast.AST, list[ast.Name]]:
    found: dict[ast.AST, list[ast.Name]] = {}
    for name in source.of(ast.Name):
        if isinstance(name.ctx, ast.Load):
            found.setdefault(source.unit(name), []).append(name)
    return {unit: sorted(names, key=source.span) for unit, names in found.items()}


def _exchanged(source: Source, unit: ast.AST, names: list[ast.Name], one: str, other: str, weight: float) -> Edit:
    touched = [name for name in names if name.id in {one, other}]
    start, end = source.span(touched[0])[0], source.span(touched[-1])[1]
    pieces, at = [], start
    for name in touched:
        a, b = source.span(name)
        pieces += [source.text[at:a], other if name.id == one else one]
        at = b
    why = f"`{one}` and `{other}` change places in `{short(source.text[start:end])}`"
    return Edit(start, end, "".join(pieces), "name", why, weight, unit)


FAMILIES = (indices, names_in_a_statement)
