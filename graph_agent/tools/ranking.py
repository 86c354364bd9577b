"""Texts ranked by how well their words fit a query: BM25, as in Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond" (2009), with k1 = 1.2 and b = 0.75.

The rule: the same texts and query give the same order; of equal texts the earlier comes first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import log

from graph_agent.tools.words import content_terms, terms

K1 = 1.2  # how soon a repeated term stops counting
B = 0.75  # how much a long text is held against it


class Ranking:
    """An index of texts, known by their position."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(terms(text)) for text in texts]
        lengths = [counts.total() for counts in counted]
        average = sum(lengths) / len(lengths) if any(lengths) else 1.0
        self._size = len(counted)
        self._damping = [K1 * (1 - B + B * length / average) for length in lengths]
        self._found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, counts in enumerate(counted):
            for term, often in counts.items():
                self._found[term].append((position, often))

    def best(self, query: str, limit: int) -> list[tuple[int, float]]:
        """At most `limit` pairs of position and score, best first; only texts with a content term of the query."""
        scores: dict[int, float] = defaultdict(float)
        for term in content_terms(query):
            weight = self.weight(term)
            for position, often in self._found.get(term, ()):
                scores[position] += weight * often * (K1 + 1) / (often + self._damping[position])
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(0, limit)]

    def weight(self, term: str) -> float:
        """How much a term tells the texts apart (idf, above 0). Most for one that is in no text."""
        among = len(self._found.get(term, ()))
        return log(1 + (self._size - among + 0.5) / (among + 0.5))

    def coverage(self, query: str, text: str) -> float:
        """The share, by weight, of the query's content terms that occur in a text: 0 to 1, 0 for a query of none."""
        return self.share(content_terms(query), set(terms(text)))

    def share(self, wanted: Iterable[str], present: set[str]) -> float:
        """The same for terms."""
        weights = {term: self.weight(term) for term in wanted}
        whole = sum(weights.values())
        return sum(weight for term, weight in weights.items() if term in present) / whole if whole else 0.0
