"""Large texts of a run that has no journal, in memory: what a node keeps, a later node can read back.

The rule is that of the blobs beside a journal: a text is found under the hash of its bytes, or that is an error.
"""

from __future__ import annotations

from collections.abc import Callable

from graph_agent.protocols import blob_ref
from graph_agent.runtime.errors import BlobError


class Texts:
    """`Context(keep=texts.keep, read=texts.read)` for runs that go on in this process, such as after an answer.

    `behind` is asked for what is not held here.
    """

    def __init__(self, behind: Callable[[str], str] | None = None) -> None:
        self._held: dict[str, str] = {}
        self._behind = behind

    def keep(self, text: str, /) -> str:
        ref = blob_ref(text)
        self._held[ref] = text
        return ref

    def read(self, ref: str, /) -> str:
        """Raises `BlobError` for a text that nobody kept here."""
        if ref in self._held:
            return self._held[ref]
        if self._behind is None:
            raise BlobError(
                f"no text is kept under {ref[:80]!r}: give the run a journal, or one Texts for its whole life"
            )
        return self._behind(ref)
