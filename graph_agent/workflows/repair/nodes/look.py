"""What a resumed repair looks at before it goes on: whether files and verification still are what is recorded.

The state says what was so when it was written. The rule: a stranger's change is named and put before a person, and
nothing is written here.
"""

from __future__ import annotations

from dataclasses import replace

from graph_agent.protocols import Context
from graph_agent.runtime.graph import Seen
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.nodes.execute import changed, expected
from graph_agent.workflows.repair.nodes.plan import by_path
from graph_agent.workflows.repair.nodes.verify import verify
from graph_agent.workflows.repair.state import Stage, TaskState


def look(state: TaskState, ctx: Context) -> Seen:
    """The files first; then, where the run rests on a verification that passed, the same verification again."""
    if not state.baseline:
        return Seen(facts=("nothing was taken down yet",))
    listed = ctx.tools.call("list_files")
    if not listed.ok:
        return Seen(problem=f"the workspace can't be listed: {listed.error}")
    now = {file.path: file.sha256 for file in listed.value}
    recorded = {path: expected(state, path) for path in _recorded(state)}
    others = [f"{path} ({_short(now.get(path))})" for path, then in recorded.items() if now.get(path) != then]
    facts = (f"{len(recorded)} files compared",)
    if others:
        return Seen(facts=facts, problem=f"changed by somebody else while the run was stopped: {', '.join(others)}")
    return _verified_again(state, ctx, facts) if _rests_on_a_pass(state) else Seen(facts=facts)


def _recorded(state: TaskState) -> list[str]:
    """All files that the run knows, but for those that an EXECUTE may have been writing: its own calls look at them."""
    known = {*(file.path for file in state.baseline), *(change.path for change in state.changes)}
    if state.stage is Stage.EXECUTE and state.plan_now is not None:
        known -= {*changed(state), *by_path(state.plan_now.edits)}
    return sorted(known)


def _short(sha256: str | None) -> str:
    return f"now {sha256[:12]}" if sha256 else "gone"


def _rests_on_a_pass(state: TaskState) -> bool:
    latest = state.verification
    if latest is None or latest.verdict is not Verdict.PASS or latest.attempt != state.attempt:
        return False
    waits = state.stage is Stage.HUMAN and state.came_from in (Stage.VERIFY, Stage.REVIEW)
    return waits or state.stage is Stage.REVIEW


def _verified_again(state: TaskState, ctx: Context, facts: tuple[str, ...]) -> Seen:
    """As it was done then: the runs of the held-out tests are counted up to there and this one is not."""
    (again,) = verify(replace(state, verifications=state.verifications[:-1]), ctx)["verifications"]
    assert state.verification is not None
    told = (*facts, f"{state.verification.id} again: {again.verdict.value}")
    if again.verdict is Verdict.PASS:
        return Seen(facts=told)
    return Seen(facts=told, problem=f"{state.verification.id} passed and does not pass any more: {again.reason}")
