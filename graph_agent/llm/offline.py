"""A model that is no model: `MutationLLM` proposes single edits to the files it is shown, the likeliest first.

It stands where a model stands and answers in the same form, a plan or a repair as JSON, so a graph that runs on it
runs on any other. The rule: its answer follows from the request alone (files, failing output, lines run, what was
tried), so the same question has the same answer in any process; and when it has nothing more to propose, it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from threading import Lock
from typing import Any

from graph_agent.llm.edits import Edit, unique_edit
from graph_agent.mutation import Candidate, Lines, candidates
from graph_agent.protocols import LLMError, Reply, Request
from graph_agent.runtime.codec import encode
from graph_agent.runtime.jsontext import dumps

_Key = tuple[str, str, str]
_PYTHON = frozenset({"", ".py", ".pyi", ".pyw"})  # by its name: a JSON file may well parse as Python


class OfflineError(LLMError):
    """The question is none that can be answered without a model."""


class MutationLLM:
    """Answers requests whose schema has `edits`, or a `decision` with a plan; any other is an `OfflineError`.

    Reads of the context: `files` (path -> text; the Python ones), `failing_output`, `lines` (path -> failing, passing
    and traceback line numbers, and how many tests ran each), `tried` (earlier edits), `observations` and
    `verification` (for their ids). Safe to use from many threads; it keeps the order of candidates of the latest files,
    which only saves time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: tuple[str, _Proposals] | None = None

    def describe(self) -> dict[str, str]:
        """What a run's header says of this model."""
        return {"llm": "offline", "model": "single edits"}

    def complete(self, request: Request, /) -> Reply:
        """The first candidate that was not tried, as the JSON that the request's schema asks for."""
        fields = (request.schema or {}).get("properties", {})
        if "decision" not in fields and "edits" not in fields:
            raise OfflineError("the offline model can only propose edits: for this question name a model with --model")
        with self._lock:
            found = self._next(request.context)
        if "decision" in fields:
            return Reply(text=dumps(_repair(request.context, found)))
        if found is None:
            return Reply(text="there is no single edit to propose for these files", finish="refused")
        return Reply(text=dumps(_plan(request.context, found)))

    def _next(self, context: Mapping[str, Any]) -> tuple[Candidate, Edit] | None:
        tried = {_key(edit) for one in context.get("tried", ()) for edit in one["edits"]}
        wanted = sha256(repr([context.get(name) for name in ("files", "lines", "failing_output")]).encode()).hexdigest()
        if self._known is None or self._known[0] != wanted:
            self._known = (wanted, _Proposals(context))
        return self._known[1].first_besides(tried)


class _Proposals:
    """The candidates for one set of files, made as they are needed and kept."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        given: Mapping[str, str] = context.get("files", {})
        files = {path: text for path, text in given.items() if PurePosixPath(path).suffix in _PYTHON}
        lines = {path: _lines(known) for path, known in context.get("lines", {}).items()}
        self._files = files
        self._coming: Iterator[Candidate] = candidates(files, lines=lines, hints=context.get("failing_output", ""))
        self._made: list[tuple[Candidate, Edit]] = []

    def first_besides(self, tried: set[_Key]) -> tuple[Candidate, Edit] | None:
        for candidate, edit in self._made:
            if (edit.path, edit.old, edit.new) not in tried:
                return candidate, edit
        for candidate in self._coming:
            mutant = candidate.mutant
            edit = unique_edit(candidate.path, self._files[candidate.path], mutant.start, mutant.end, mutant.new)
            self._made.append((candidate, edit))
            if (edit.path, edit.old, edit.new) not in tried:
                return candidate, edit
        return None


def _lines(known: Mapping[str, Any]) -> Lines:
    """The context has the innermost line first, the engine wants it last. It need not say how many tests ran a line."""
    return Lines(
        failing=frozenset(known["failing"]),
        passing=frozenset(known["passing"]),
        traceback=tuple(reversed(known["traceback"])),
        failing_tests=dict(zip(known["failing"], known.get("failing_tests", ()), strict=False)),
        passing_tests=dict(zip(known["passing"], known.get("passing_tests", ()), strict=False)),
        failed=known.get("failed", 1),
    )


def _plan(context: Mapping[str, Any], found: tuple[Candidate, Edit]) -> dict[str, Any]:
    candidate, edit = found
    mutant = candidate.mutant
    what = f"{mutant.why} in line {mutant.line} of {edit.path}"
    return {
        "hypothesis": what,
        "steps": [f"{mutant.family}: {what}"],
        "files_to_change": [edit.path],
        "cites": [one["id"] for one in context.get("observations", ()) if one.get("source", "") != "plan check"],
        "edits": [encode(edit)],
        "risks": [],
        "claim": "",
    }


def _repair(context: Mapping[str, Any], found: tuple[Candidate, Edit] | None) -> dict[str, Any]:
    verification = context.get("verification", {}).get("id")
    cites = [verification] if verification else [one["id"] for one in context.get("observations", ())]
    if found is None:
        tried = len(context.get("tried", ()))
        why = f"no more candidates: each of the {tried} single edits to these files was tried"
        return {"decision": "human_review", "why": why, "cites": cites, "base": "original", "plan": None}
    plan = _plan(context, found)
    return {"decision": "repair", "why": plan["hypothesis"], "cites": cites, "base": "original", "plan": plan}


def _key(edit: Mapping[str, str]) -> _Key:
    return edit["path"], edit["old"], edit["new"]
