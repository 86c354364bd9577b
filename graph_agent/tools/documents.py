"""A folder of documents as three read tools: list, search, read.

The rule: what a tool gives is the document's own text with its lines, no link leads out of the folder, and what was
left out is said (`left_out`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from threading import Lock

from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.runtime.errors import nearest
from graph_agent.tools.doctext import doc_text, superseded_in, title_of
from graph_agent.tools.files import behind, read_bytes, sha256, walk
from graph_agent.tools.passages import Passage, passages
from graph_agent.tools.paths import Place, Root, WorkspaceError, quoted
from graph_agent.tools.ranking import Ranking
from graph_agent.tools.sourced import Sourced
from graph_agent.tools.toolbox import Toolbox

SUFFIXES = (".md", ".markdown", ".rst", ".txt", ".html", ".htm", "")
MOST_ENTRIES = 100_000  # of the folder, documents or not
MOST_LINES = 400  # read at once
RELEVANT = 0.4  # of the best passage's score
NEXT = 0.85  # what the next passage of the same document counts
OLD = 0.8  # what a passage of a superseded document counts


class DocumentsError(GraphAgentError):
    """A folder in which there is nothing to read."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """`superseded`: the line that says so. `version`: the SHA-256 of the file."""

    path: str
    text: str
    title: str
    superseded: str
    version: str

    @property
    def lines(self) -> list[str]:
        return self.text.removesuffix("\n").split("\n")

    @cached_property
    def passages(self) -> list[Passage]:
        return passages(self.text)

    def heading_at(self, line: int) -> str:
        """The nearest heading at or above a line; "" for none."""
        return next((one.heading for one in reversed(self.passages) if one.first <= line), "")


class Documents:
    """All documents below a folder, by path: .md .markdown .rst .txt .html .htm, and texts without a suffix."""

    def __init__(self, root: Path, *, most_files: int = 2000, most_bytes: int = 2_000_000) -> None:
        """`most_bytes` is for one file. Raises DocumentsError."""
        self._left_out: list[str] = []
        try:
            self._root = Root(root)
            found = [*self._read(most_files, most_bytes)]
        except (WorkspaceError, ToolError) as error:
            raise DocumentsError(f"the documents in {root.name!r} cannot be read: {error}") from error
        self._held = {document.path: document for document in found}
        self.left_out = tuple(self._left_out)
        """One sentence for each file that could have been a document."""
        if not self._held:
            without = f" Left out: {' '.join(self.left_out[:3])}" if self.left_out else ""
            wanted = f"Put files there that end in {', '.join(SUFFIXES[:-1])}."
            raise DocumentsError(f"there is no document in {root.name!r}. {wanted}{without}")
        self._passages: list[tuple[Document, Passage]] = []
        self._ranking: Ranking | None = None
        self._indexing = Lock()

    def __iter__(self) -> Iterator[Document]:
        return iter(self._held.values())

    def toolbox(self) -> Toolbox:
        return Toolbox([self.list_documents, self.search_documents, self.read_document])

    def list_documents(self) -> Sourced:
        """List the documents: path, number of lines, title, and whether another one has replaced it."""
        listed = [
            f"{document.path} ({_counted(len(document.lines), 'line')}): {document.title}"
            + (f" [superseded: {document.superseded}]" if document.superseded else "")
            for document in self
        ]
        left = f"; {len(self.left_out)} files were left out: {' '.join(self.left_out[:5])}" if self.left_out else ""
        return Sourced(text="\n".join(listed), summary=f"{_counted(len(listed), 'document')}{left}.".replace("..", "."))

    def search_documents(self, query: str, limit: int = 4) -> Sourced:
        """Find the passages that fit a question or some words best: where they are, then each below its place."""
        if limit < 1:
            raise ToolError("bad_arguments", f"limit is {limit}; at least one passage can be asked for.")
        chosen = self._best(query, limit)
        headers = [_header(*pair) for pair in chosen]
        shown = [f"{header}\n{passage.text}" for header, (_, passage) in zip(headers, chosen, strict=True)]
        sources = list({document.path: document for document, _ in chosen}.values())
        only = sources[0] if len(sources) == 1 else None
        return Sourced(
            text="\n\n".join(["\n".join(headers), *shown] if len(chosen) > 1 else shown),
            source=only.path if only else "",
            span=",".join(f"{passage.first}-{passage.last}" for _, passage in chosen) if only else "",
            version=only.version if only else "",
            summary=_found(len(chosen), sources),
            caveat=_superseded(sources),
        )

    def read_document(self, path: str, start: int, end: int) -> Sourced:
        """Read the lines `start` to `end` of a document, from 1, both included; at most 400 at once."""
        document = self._held.get(path.removeprefix("./"))
        if document is None:
            hint = "Take a path that list_documents gave."
            raise ToolError(
                "not_found", f"There is no document {quoted(path)}{nearest(path, self._held) or '.'}", hint=hint
            )
        if start < 1 or end < start:
            raise ToolError("bad_arguments", f"There are no lines {start} to {end}: they count from 1.")
        count = len(document.lines)
        last = min(end, count, start + MOST_LINES - 1)
        told = [f"{document.path} has {_counted(count, 'line')}"]
        told += [f"only lines {start}-{last} are shown"] * (last < min(end, count))
        return Sourced(
            text="\n".join(document.lines[start - 1 : last]),
            source=document.path,
            span=f"{start}-{last}" if last >= start else "",
            heading=" / ".join(dict.fromkeys(filter(None, (document.title, document.heading_at(start))))),
            version=document.version,
            summary="; ".join(told) + ".",
            caveat=_superseded([document]),
        )

    def _best(self, query: str, limit: int) -> list[tuple[Document, Passage]]:
        """The best passages; a document's next one counts less, so that others have a say; current ones come first."""
        ranked = self._ranked().best(query, 50 * limit)
        least = RELEVANT * ranked[0][1] if ranked else 0
        relevant = {position: score for position, score in ranked if score >= least}
        left = {at: score * (OLD if self._passages[at][0].superseded else 1) for at, score in relevant.items()}
        chosen: list[tuple[Document, Passage]] = []
        while left and len(chosen) < limit:
            taken = Counter(document.path for document, _ in chosen)
            worth = {at: score * NEXT ** taken[self._passages[at][0].path] for at, score in left.items()}
            best = max(worth, key=lambda at: (worth[at], -at))
            chosen.append(self._passages[best])
            del left[best]
        return sorted(chosen, key=lambda pair: bool(pair[0].superseded))

    def _ranked(self) -> Ranking:
        with self._indexing:
            if self._ranking is None:
                self._passages = [(document, passage) for document in self for passage in document.passages]
                self._ranking = Ranking([_indexed(*pair) for pair in self._passages])
            return self._ranking

    def _read(self, most_files: int, most_bytes: int) -> Iterator[Document]:
        read = 0
        for place in self._places():
            if read == most_files:
                self._left_out.append(f"{place.name} is beyond the {most_files} documents that are read.")
            elif document := self._document(place, most_bytes):
                read += 1
                yield document

    def _places(self) -> list[Place]:
        found = []
        for place in walk(self._root.folder, limit=MOST_ENTRIES, enter=lambda place: not _hidden(place.name)):
            if _hidden(place.name) or place.file.suffix.casefold() not in SUFFIXES:
                continue
            if place.kind == "link" and behind(self._root, place).kind == "link":
                self._left_out.append(f"{place.name} is a link that leads out of the folder.")
            elif len(place.name.splitlines()) > 1:  # no line could name it
                self._left_out.append(f"{quoted(place.name)} has a line break in its name: rename it.")
            elif place.kind == "file":
                found.append(place)
        return sorted(found, key=lambda place: place.name)

    def _document(self, place: Place, most_bytes: int) -> Document | None:
        try:
            raw = read_bytes(place, most_bytes)
            decoded = doc_text(raw, place.name)
        except ToolError as error:
            if error.kind != "binary" or place.file.suffix:  # a program without a suffix was never a document
                self._left_out.append(error.message)
            return None
        if not decoded.text.strip():
            return None
        if decoded.guessed:
            self._left_out.append(f"{place.name} is no UTF-8 and was read as Latin-1.")
        title = title_of(decoded.text) or PurePosixPath(place.name).stem
        return Document(
            path=place.name,
            text=decoded.text,
            title=title,
            superseded=superseded_in(decoded.text),
            version=sha256(raw),
        )


def _hidden(name: str) -> bool:
    return PurePosixPath(name).name.startswith(".")


def _indexed(document: Document, passage: Passage) -> str:
    """A passage is found by what it stands under, too, which counts twice."""
    above = dict.fromkeys((PurePosixPath(document.path).stem, document.title, passage.heading))
    return "\n".join([*above, *above, passage.text])


def _header(document: Document, passage: Passage) -> str:
    return f"{document.path}:{passage.first}-{passage.last} ({passage.heading or document.title})"


def _found(passages: int, sources: list[Document]) -> str:
    if not sources:
        return "No passage has any of these words."
    return f"{_counted(passages, 'passage')} from {', '.join(document.path for document in sources)}."


def _superseded(sources: list[Document]) -> str:
    """What nobody should quote them without."""
    old = [f"{document.path} was superseded: {document.superseded}" for document in sources if document.superseded]
    return "; ".join(old)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
