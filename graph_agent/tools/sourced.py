"""What a tool gives when somebody may want to cite it: a text, and where it stands.

The rule: `text` is what was read, word for word, so that a quote of it can be looked up again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sourced:
    """`source` names where the text is from, such as a document's path; "" for a source that is the call itself.

    `span` is the place in it ("12-18", lines from 1), `heading` what it stands under there, `version` the SHA-256 of
    the whole source, `summary` what the tool itself says of the text in a sentence, and `caveat` what nobody should
    quote it without, such as that the document was superseded. "" for what there is none of.
    """

    text: str
    source: str = ""
    span: str = ""
    heading: str = ""
    version: str = ""
    summary: str = ""
    caveat: str = ""

    @property
    def place(self) -> str:
        """As it stands in a list of sources: "guide.md:12-18"."""
        return ":".join(filter(None, (self.source, self.span)))
