"""A model with a script for what it is asked, so that a first attempt fails the same way each time.

The script is a JSON object: "plan", "repair", "review", "judge" (lists of answers, in the order in which they are asked
for) and "move" (such a list by the id of a step). The rule: an answer is JSON data or a text; "offline", and whatever
the script does not say, is answered by the offline model that stands behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from graph_agent.protocols import LLM, GraphAgentError, Reply, Request
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.jsontext import dumps

BEHIND = "offline"
_KINDS = ("plan", "repair", "review", "judge", "move")


class ScriptError(GraphAgentError):
    """A script that is none."""


class ScriptedLLM:
    """Threads may share it: what is asked at once is told apart by the step that asks."""

    def __init__(self, script: Mapping[str, Any], behind: LLM) -> None:
        self._behind, self._lock = behind, Lock()
        self._left = {kind: list(said) for kind, said in script.items() if kind != "move"}
        self._left |= {f"move {step}": list(said) for step, said in script.get("move", {}).items()}

    def describe(self) -> dict[str, str]:
        """What a run's header says of this model."""
        return {"llm": "scripted", "model": "a script, the offline model behind it"}

    def complete(self, request: Request, /) -> Any:
        with self._lock:
            left = self._left.get(_kind(request), [])
            said = left.pop(0) if left else BEHIND
        if said == BEHIND:
            return self._behind.complete(request)
        return Reply(text=said if isinstance(said, str) else dumps(said))


def read_script(path: Path) -> dict[str, Any]:
    """Raises `ScriptError`."""
    try:
        script = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScriptError(f"the script {path} can't be read: {error}") from error
    if not isinstance(script, dict):
        raise ScriptError(f"the script {path} is no object: give {', '.join(_KINDS)}")
    for kind, said in script.items():
        if kind not in _KINDS:
            raise ScriptError(f"the script {path} has {kind!r}{nearest(kind, _KINDS)}: give {', '.join(_KINDS)}")
        lists = list(said.values()) if kind == "move" and isinstance(said, dict) else [said]
        if not all(isinstance(one, list) for one in lists):
            raise ScriptError(f"the script {path}: {kind!r} is no list of answers")
    return script


def _kind(request: Request) -> str:
    """By the form of the answer that is asked for, as the offline models tell it."""
    fields = (request.schema or {}).get("properties", {})
    if "call" in fields and "result" in fields:
        return f"move {request.context['step']['id']}"
    forms = {"decision": "repair", "blockers": "review", "items": "judge", "steps": "plan", "edits": "plan"}
    return next((kind for name, kind in forms.items() if name in fields), "")
