"""One-edit mutants of Python source: small programs' nearest neighbours, likeliest first.

`mutants` gives all of them for one text; `candidates` ranks those of several files by what is known of failing tests.
The rule: an edit changes its own characters and no others, and its result parses and is new.
"""

from __future__ import annotations

from .scoring import Candidate, Lines, candidates, mutants
from .source import Mutant, MutationError

__all__ = ["Candidate", "Lines", "Mutant", "MutationError", "candidates", "mutants"]
