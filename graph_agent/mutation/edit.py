"""The pieces that the families share: an edit as they propose it, a mutant as others get it, and the one error.

A family is a function that looks at a whole `Source` and proposes edits, each with a weight. It keeps one rule:
a proposal is cheap and may be wrong, since whether it parses and is new is decided later, when somebody asks for it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from graph_agent.protocols import GraphAgentError

if TYPE_CHECKING:
    from .source import Source


class MutationError(GraphAgentError):
    """A source text from which no mutants can be made. The message says where it does not parse."""


class Edit(NamedTuple):
    """A proposal: `source[start:end]` becomes `new`. `weight` is 1.0 for the likeliest slip, less for others.

    `unit` is the statement (or handler, or case) inside whose own text the edit stays; None when it changes which
    statements there are or how they nest.
    """

    start: int
    end: int
    new: str
    family: str
    why: str
    weight: float
    unit: ast.AST | None


Family: TypeAlias = "Callable[[Source], Iterator[Edit]]"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One edit to a source text: the characters from `start` up to `end` become `new`. `line` counts from 1."""

    start: int
    end: int
    new: str
    family: str
    line: int
    why: str

    def apply(self, source: str) -> str:
        """The text with the edit made; `source` must be the text that the mutant was made from."""
        return source[: self.start] + self.new + source[self.end :]
