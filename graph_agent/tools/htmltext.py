"""A web page as a text with lines: headings with "#", items with "-", rows with "|", code in a fence.

The rule: the words of the page in their order, entities decoded; what moves, styles or navigates is dropped.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

_NAMES = {
    "dropped": "script style nav header footer aside form button template noscript svg head iframe select",
    "void": "area base br col embed hr img input link meta param source track wbr",
    "blocks": "p div section article main blockquote ul ol dl dt dd li table tr pre figure figcaption address details "
    "summary body h1 h2 h3 h4 h5 h6 hr thead tbody tfoot caption",
}
_DROPPED, _VOID, _BLOCKS = (frozenset(names.split()) for names in _NAMES.values())
_MARKS = {"li": "- ", "dt": "###### "}  # a term heads what is said of it
_ROLES = frozenset({"navigation", "search", "banner", "contentinfo"})


def html_text(source: str) -> str:
    """The text, paragraphs apart by an empty line. The page's title is its heading where it has none of its own."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._paragraphs: list[str] = []
        self._words: list[str] = []
        self._mark = ""
        self._dropping: list[str] = []  # the open elements from the dropped one on
        self._title: list[str] | None = None
        self._in_title = self._in_code = self._heads = False

    def text(self) -> str:
        self._end_paragraph()
        title = " ".join("".join(self._title or ()).split())
        if title and not any(paragraph.startswith("# ") for paragraph in self._paragraphs):
            self._paragraphs.insert(0, f"# {title}")
        return _joined(self._paragraphs)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and self._title is None:
            self._title, self._in_title = [], True
        elif self._dropping or tag in _DROPPED or _drops(dict(attrs)):
            if tag == "body":  # an open head ends here
                self._dropping.clear()
            elif tag not in _VOID:
                self._dropping.append(tag)
        elif tag == "br":
            self._words.append("\n")
        elif tag in ("td", "th"):
            self._heads = tag == "th"
            self._words.append(" | ")
        elif tag in _BLOCKS:
            self._begin(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._dropping:
            while self._dropping.pop() != tag:
                pass
        elif tag in _BLOCKS and not self._dropping:
            self._words.append(" |" if tag == "tr" else "")
            self._end_paragraph()
            if tag == "tr" and self._heads:  # all of them: the last cell was one
                self._paragraphs.append("| --- |")
            self._heads = False
            self._in_code = self._in_code and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._in_title and self._title is not None:
            self._title.append(data)
        elif not self._dropping:
            self._words.append(data if self._in_code else re.sub(r"\s+", " ", data))

    def _begin(self, tag: str) -> None:
        inside_item = tag in ("p", "div") and self._mark == "- " and not "".join(self._words).strip()
        if inside_item:
            return
        self._end_paragraph()
        self._in_code = tag == "pre"
        if re.fullmatch("h[1-6]", tag):
            self._mark = "#" * int(tag[1]) + " "
        elif tag in _MARKS:
            self._mark = _MARKS[tag]

    def _end_paragraph(self) -> None:
        said, mark = "".join(self._words), self._mark
        self._words, self._mark = [], ""
        if self._in_code and said.strip():
            self._paragraphs.append("```\n" + said.strip("\n") + "\n```")
            return
        lines = [" ".join(line.split()) for line in said.split("\n")]
        if any(line.strip("| ") for line in lines):
            self._paragraphs.append(mark + "\n".join(filter(None, lines)))


def _drops(attributes: dict[str, str | None]) -> bool:
    named = (attributes.get("class") or "").split()
    return (
        attributes.get("role") in _ROLES
        or attributes.get("aria-hidden") == "true"
        or "hidden" in attributes
        or "headerlink" in named
        or "sphinxsidebar" in named
    )


def _joined(paragraphs: list[str]) -> str:
    """Rows and items follow each other closely."""
    text: list[str] = []
    for before, paragraph in pairwise(["", *paragraphs]):
        close = any(before.startswith(mark) and paragraph.startswith(mark) for mark in ("| ", "- "))
        text += ["" if not before else "\n" if close else "\n\n", paragraph]
    return "".join([*text, "\n"]) if text else ""
