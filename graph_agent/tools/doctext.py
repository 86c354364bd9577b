"""A document's bytes as text, and what the text says of itself: its title, and whether it was superseded.

The rule: Markdown, reStructuredText and plain text keep their lines, so that line 12 here is line 12 of the file; HTML
becomes such a text (see `htmltext`). What is no text is refused, and an encoding that was a guess is named.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from graph_agent.protocols import ToolError
from graph_agent.tools.paths import quoted
from graph_agent.tools.sentences import sentences

HTML = (".html", ".htm")
HEAD = 15
"""How many lines are read for a word on the document itself."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_GONE = r"(?:superseded|obsoleted|obsolete|replaced|deprecated|withdrawn|retired)"
_GONE_DE = r"(?:ersetzt|überholt|veraltet|zurückgezogen|aufgehoben|abgelöst)"
_DOCUMENT = (
    r"(?:document|page|guide|version|edition|policy|specification|standard|rfc(?: \d+)?|pep(?: \d+)?|manual|memo|note"
    r"|handbook|draft|procedure|this)"
)
_DOCUMENT_DE = r"(?:dokument|seite|fassung|version|richtlinie|anleitung|handbuch|regelung|vorschrift|ausgabe)"
_NOW_GONE_ZH = "(?:废止|作废|取代|替代|弃用|撤回|失效)"
_SUPERSEDED = re.compile(
    rf"^\W*(?:status|state|note|notice|warning|stand|hinweis|状态)?\W*{_GONE}\b(?!\s+(?:since|in|\w+s\b))"
    rf"|^\W*(?:status|state)\W+.*\b{_GONE}\b"
    rf"|\b{_DOCUMENT}\s+(?:\S+\s+)?(?:is|was|were|are|(?:has|have)\s+(?:since\s+)?been)\s+(?:\w+\s+)?{_GONE}\b"
    r"|\b(?:superseded|obsoleted)[ -]?by\b|\bno longer (?:valid|current|in force)\b"
    rf"|^\W*(?:(?:stand|status|hinweis)\W+)?{_GONE_DE}\b"
    rf"|\b{_DOCUMENT_DE}\s+(?:\S+\s+)?(?:ist|wurde|gilt als)\b.*\b{_GONE_DE}\b"
    rf"|[已被][^。，]{{0,30}}{_NOW_GONE_ZH}|本(?:文档|文|版){_NOW_GONE_ZH}",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|nicht|isn't|nothing)\b|未", re.IGNORECASE)
_TITLE = re.compile(r"\W*title\s*:\s*[\"']?(.+?)[\"']?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class DocText:
    """A text with "\\n" between its lines. `encoding` as Python names it; `guessed`: Latin-1, for want of a better."""

    text: str
    encoding: str = "utf-8"
    guessed: bool = False


def doc_text(raw: bytes, name: str) -> DocText:
    """Raises ToolError: binary."""
    encoding, body = next(((known, raw[len(mark) :]) for mark, known in _MARKS if raw.startswith(mark)), ("", raw))
    text, used = _decoded(body, encoding)
    if len(_CONTROL.findall(text[:8192])) * 100 > len(text[:8192]) or "\0" in text:
        raise ToolError("binary", f"{quoted(name)} is no text.", hint="Documents are Markdown, text, reST or HTML.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if name.casefold().endswith(HTML):
        from graph_agent.tools.htmltext import html_text  # most folders have none

        text = html_text(text)
    return DocText(text, used, guessed=used == "latin-1")


def title_of(text: str) -> str:
    """The first heading, or a title said in a field; else the first line that has words, cut at 80 characters."""
    head = text[:6000]
    for line in head.split("\n")[:HEAD]:
        if found := _TITLE.match(line):
            return found[1]
    said = [sentence for sentence in sentences(head) if any(map(str.isalpha, sentence.text))]
    headings = [sentence.text for sentence in said if sentence.heading]
    return (headings or [sentence.text for sentence in said] or [""])[0][:80]


def superseded_in(text: str) -> str:
    """Of the first 15 lines the one that says that the document no longer holds; "" for none.

    What the document itself replaces ("Obsoletes: 2068") is another matter.
    """
    head = "\n".join(text[:4000].split("\n")[:HEAD])
    told = (*head.split("\n"), *(sentence.text for sentence in sentences(head)))  # a sentence may run over two lines
    return next((" ".join(one.split()) for one in told if _SUPERSEDED.search(one) and not _DENIED.search(one)), "")


def _decoded(body: bytes, encoding: str) -> tuple[str, str]:
    """The text, and the encoding that fitted."""
    for known in filter(None, (encoding, "utf-8")):
        try:
            return body.decode(known), known
        except UnicodeDecodeError:
            continue
    return body.decode("latin-1"), "latin-1"
