"""The audit of researches: every citation of an answer read back, from what was kept and from the documents.

The rule: a kept text is what its name says by its hash, or it is said to be altered; a document is only read where it
is, by its own hash, still what the run read. The rules themselves are in `workflows.research.audit`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graph_agent.cli.kept import Kept
from graph_agent.cli.research_desk import answer_text
from graph_agent.cli.research_setup import ResearchSetup, kept_research, versions_of
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.errors import BlobError
from graph_agent.tools.documents import Document, Documents, DocumentsError
from graph_agent.verify.audit import Audited
from graph_agent.verify.report import Verdict
from graph_agent.workflows.research.audit import answer_problems, cited, claimed, document_problems, status_problems
from graph_agent.workflows.research.state import Evidence

MOST_SHOWN = 2_000  # characters of a source

_PLACE = re.compile(r"(?P<path>.+):(?P<first>\d+)-(?P<last>\d+) \(.*\)")


@dataclass
class _Read:
    """`texts`: of the evidence, by its id; `lines`: what the documents have at its place; `lost`: what is gone."""

    texts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class ResearchAudit:
    """Of any number of researches, with the options of one command. Each folder of documents is read once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._checks = bool(options.check)
        self._folders: dict[str, Documents | str] = {}

    def audited(self, kept: Kept) -> Audited:
        """Raises `UsageError`, `SetupError`, `RunMisfit`."""
        setup, state = kept_research(kept), kept.state
        answer, says = state.answer, claimed(state)
        if answer is None:
            return Audited(claimed=says, found=Verdict.UNKNOWN, reasons=(f"there is no answer: {state.route_reason}",))
        read = self._read(kept, setup)
        wrong = [*read.wrong, *answer_problems(answer, read.texts, read.lost)]
        wrong += [*document_problems(answer, read.lines), *status_problems(state), *_file_problems(kept)]
        unread = tuple(f"{name}: {why}" for name, why in read.lost.items())
        notes = [f"citations read back: {len(read.texts)}, in the documents too: {len(read.lines)}", *read.notes]
        notes += ["extra checks are for repairs"] if self._checks else []
        return Audited(
            claimed=says,
            found=Verdict.UNKNOWN if read.lost else says,
            wrong=tuple(dict.fromkeys(wrong)),
            reasons=unread,
            notes=tuple(notes),
        )

    def shown(self, kept: Kept) -> str:
        """What a person needs to judge: the question, the answer, and what it cites. Raises as `audited`."""
        state, read = kept.state, self._read(kept, kept_research(kept))
        blocks = [f"asked: {state.goal}"]
        blocks.append(answer_text(state.answer) if state.answer else "(there is no answer)")
        for one in cited(state):
            text = read.texts.get(one.id, f"(it can't be read back: {read.lost.get(one.id, 'it was altered')})")
            cut = (
                text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n[{len(text) - MOST_SHOWN} more characters]"
            )
            blocks.append(f"[{one.id}] {one.place}\n{cut}")
        return "\n\n".join(blocks)

    def _read(self, kept: Kept, setup: ResearchSetup) -> _Read:
        read, blobs = _Read(), Blobs(kept.folder / "blobs")
        for one in cited(kept.state):
            gone = ""
            try:
                read.texts[one.id] = blobs.read(one.text)
            except BlobError as error:
                gone = str(error)
            lines = self._lines(one, read.texts.get(one.id, ""), setup, read)
            if lines:
                read.lines[one.id] = lines
            if gone and (kept.folder / "blobs" / one.text).exists():
                read.wrong.append(f"{one.id} can't be read back: {gone}")
                read.lost[one.id] = gone
            elif gone and lines:
                read.texts[one.id] = lines
                read.notes.append(f"the kept text of {one.id} is gone, and was read in {one.place}")
            elif gone:
                read.lost[one.id] = gone
        return read

    def _lines(self, one: Evidence, text: str, setup: ResearchSetup, read: _Read) -> str:
        """What the documents have where the evidence is from; "" where they can't be read, or are others by now."""
        places = list(_places(one, text))
        if not places:
            return ""
        documents = self._documents(setup.documents)
        if isinstance(documents, str):
            _add(read.notes, documents)
            return ""
        held = {document.path: document for document in documents}
        same = versions_of(documents) == setup.policy.sources
        found = []
        for path, first, last in places:
            document = held.get(path)
            if document is None or not (same or document.version == one.version):
                _add(read.notes, f"{path} {'changed' if document else 'is gone'} since, so only the kept text was read")
                return ""
            found.append(_at(document, one, first, last))
        return "\n".join(found)

    def _documents(self, folder: str) -> Documents | str:
        """Those of a folder, or why there are none."""
        if folder not in self._folders:
            try:
                self._folders[folder] = Documents(Path(folder))
            except DocumentsError as error:
                self._folders[folder] = f"only the kept texts were read: {error}"
        return self._folders[folder]


def _places(one: Evidence, text: str) -> Iterator[tuple[str, int, int]]:
    """Path, first and last line. Where passages are from several documents, their headers stand above them."""
    if one.source and one.version:
        for span in filter(None, one.span.split(",")):
            first, _, last = span.partition("-")
            yield one.source, int(first), int(last)
    elif one.by == "search_documents":
        for header in text.partition("\n\n")[0].split("\n"):
            if place := _PLACE.fullmatch(header):
                yield place["path"], int(place["first"]), int(place["last"])


def _at(document: Document, one: Evidence, first: int, last: int) -> str:
    """The lines, below what the tools put above them."""
    above = (f"{document.path}:{first}-{last}", document.title, document.heading_at(first), one.heading)
    return "\n".join([*above, "", *document.lines[first - 1 : last]])


def _file_problems(kept: Kept) -> Iterator[str]:
    """The answer as it lies beside the journal, which is what people read."""
    path = kept.folder / "answer.md"
    if path.is_file() and path.read_bytes() != f"{answer_text(kept.state.answer)}\n".encode():
        yield "answer.md is not the answer of the run"


def _add(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)
