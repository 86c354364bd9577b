"""PLAN and REPAIR: ask a model what is wrong and what to change, at first and after a failed verification.

What comes back is data, checked and never obeyed. The rule: whoever proposes, the same checks apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from graph_agent.llm.ask import AskError, NotAccepted, Refused, Truncated, ask
from graph_agent.llm.edits import Edit, EditError, EditFormat, apply_edits, edits_from_reply, instructions_for
from graph_agent.mutation.source import parsed
from graph_agent.protocols import Context, Request
from graph_agent.workflows.repair.nodes.verify import failing_run, shortened
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import FormerPlan, Observation, Plan, Repair, TaskState

T = TypeVar("T")
Base = Literal["original", "current"]

DECISIONS = ("repair", "clarify", "human_review")

TO_PLAN = """\
A test of this project fails. Find the cause in the source files and correct it.
Rest your hypothesis on the observations, by their ids. Change as little as possible. Never touch the tests."""

TO_REPAIR = """\
A correction was tried and the verification failed. Look at what was tried and at what the checks say now.
If you see another cause, answer with the decision "repair" and a new plan; its edits apply to the original text of
the files. If the request can be read in two ways, decide "clarify"; if you see no way on, "human_review".
Cite the observations and the verification that you rest on, by their ids. Never touch the tests."""


def plan(state: TaskState, ctx: Context) -> dict[str, Any]:
    """A plan that passed every rule, or the reason why there is none."""
    question: _Question[Plan] = _Question(
        instructions=TO_PLAN,
        into=Plan,
        problem=lambda found: _plan_problem(state, ctx.policy, found, "original"),
        of_plan=lambda found: found,
    )
    answer = _proposed(state, ctx, question)  # unpacked at once, T would be taken for Plan | None
    found, notes = answer
    if found is None:
        return notes
    former = (FormerPlan(plan=state.plan, repairs=len(state.repairs)),) if state.plan else ()
    return {**notes, "plan": found, "former_plans": former, "blocked": ""}


def repair(state: TaskState, ctx: Context) -> dict[str, Any]:
    """A repair that passed every rule, or why there is none. A try is counted here and nowhere else."""
    tried = {"retries": state.retries + 1}
    latest = state.verification
    if latest is None:
        return {**tried, "blocked": _missing(state, ctx.policy) or "there is no verification to repair from"}
    question: _Question[Repair] = _Question(
        instructions=TO_REPAIR,
        into=Repair,
        problem=lambda found: _repair_problem(state, ctx.policy, found),
        of_plan=lambda found: Repair(
            decision="repair", why=found.hypothesis, cites=(*found.cites, latest.id), base="original", plan=found
        ),
    )
    answer = _proposed(state, ctx, question)
    found, notes = answer
    return {**tried, **notes} if found is None else {**tried, **notes, "repairs": (found,), "blocked": ""}


def by_path(edits: tuple[Edit, ...]) -> dict[str, list[Edit]]:
    """The edits of each file, files and edits in the order of the plan."""
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(edit.path, []).append(edit)
    return found


@dataclass(frozen=True, kw_only=True)
class _Question(Generic[T]):
    """How an answer becomes a T: read as JSON, or made of the plan that a fence of code amounts to."""

    instructions: str
    into: type[T]
    problem: Callable[[T], str | None]
    of_plan: Callable[[Plan], T]


def _proposed(state: TaskState, ctx: Context, question: _Question[T]) -> tuple[T | None, dict[str, Any]]:
    """The first valid answer of at most two, and what to note of the invalid ones."""
    policy: EvaluationPolicy = ctx.policy
    missing = _missing(state, policy)
    if missing:
        return None, {"blocked": missing}
    context = {**_context_of(state, policy), **_history_of(state)}
    noted: list[Observation] = []
    for shape in (*policy.formats, policy.formats[-1])[:2]:
        try:
            found = _answer(state, ctx, question, shape, context)
            return found, {"observations": tuple(noted)} if noted else {}
        except AskError as error:
            number = len(state.observations) + len(noted) + 1
            noted.append(Observation(id=f"O{number}", source="plan check", text=str(error)))
            if isinstance(error, Truncated | Refused):
                break  # asked again it would be cut, or refused, again
            context = {**context, "your_last_answer": shortened(error.raw), "what_was_wrong": error.message}
    blocked = f"no valid {question.into.__name__.lower()}: {noted[-1].text}"
    return None, {"observations": tuple(noted), "blocked": blocked}


def _answer(state: TaskState, ctx: Context, asked: _Question[T], shape: EditFormat, context: dict[str, Any]) -> T:
    if shape == "replace":
        request = Request(instructions=asked.instructions, context=context)
        return ask(ctx.llm, request, asked.into, corrections=0, check=asked.problem)
    reply = ctx.llm.complete(
        Request(instructions=f"{asked.instructions}\n\n{instructions_for(shape)}", context=context)
    )
    if reply.finish == "length":
        raise Truncated("the answer was cut at the token limit; raise max_tokens", raw=reply.text)
    if reply.finish == "refused":
        raise Refused(f"the model refused to answer: {reply.text[:200] or 'no reason given'}", raw=reply.text)
    try:
        edits = edits_from_reply(shape, reply.text, _texts(state, ctx.policy, "original"))
    except EditError as error:
        raise NotAccepted(str(error), raw=reply.text) from error
    paths = tuple(by_path(edits))
    value = asked.of_plan(
        Plan(
            hypothesis=shortened(reply.text.split("```")[0].strip(), 400) or "none was given",
            steps=tuple(f"replace {shape} text in {path}" for path in paths),
            files_to_change=paths,
            cites=tuple(one.id for one in state.observations if one.path in paths or one.check),
            edits=edits,
        )
    )
    wrong = asked.problem(value)
    if wrong:
        raise NotAccepted(wrong, raw=reply.text)
    return value


def _context_of(state: TaskState, policy: EvaluationPolicy) -> dict[str, Any]:
    """What a model sees: no times, no absolute paths, nothing of the held-out tests."""
    failing = failing_run(state)
    files = _texts(state, policy, "original")
    return {
        "request": state.request,
        "failing_output": failing.text if failing else "",
        "files": files,
        "other_files": {o.path: o.text for o in state.observations if o.source == "read_file" and o.path not in files},
        "observations": [_told(one) for one in state.observations],
        "lines": {
            run.path: {name: value for name, value in vars(run).items() if name != "path"}
            for one in state.observations
            for run in one.lines
            if run.path in files
        },
        "may_be_changed": {"files": sorted(files), "at_most": policy.max_files},
    }


def _told(one: Observation) -> dict[str, str]:
    """What stands elsewhere in the context (a file, the failing output) is not told twice."""
    text = "" if one.path or one.check or one.lines else shortened(one.text, 1_000)
    return {"id": one.id, "source": f"{one.source} {one.path}".rstrip(), "text": text}


def _history_of(state: TaskState) -> dict[str, Any]:
    """What was tried and what the latest verification shows; of the held-out tests one word."""
    plans = [attempt.plan for attempt in state.attempts if attempt.plan]
    tried = [{"edits": [{"path": e.path, "old": e.old, "new": e.new} for e in plan.edits]} for plan in plans]
    latest = state.verification
    if latest is None:
        return {"tried": tried} if tried else {}
    checks = [
        {"command": one.command, "exit_code": one.exit_code, "verdict": one.verdict.value, "output": one.summary}
        for one in latest.checks
    ]
    shown = {"id": latest.id, "why": latest.reason, "checks": checks, "findings": latest.findings}
    return {"tried": tried, "verification": {**shown, "held_out_tests": latest.holdout}}


def _texts(state: TaskState, policy: EvaluationPolicy, base: Base) -> dict[str, str]:
    """The files that may be changed and were read: as they were, or with the latest plan's edits in."""
    read = [one for one in state.observations if one.source == "read_file" and policy.may_write(one.path)]
    files = original = {one.path: one.text for one in read}
    for _, plan, fresh in _carried_out(state) if base == "current" else ():
        start = original if fresh else files
        files = {**start, **{path: apply_edits(start[path], edits) for path, edits in by_path(plan.edits).items()}}
    return files


def _carried_out(state: TaskState) -> list[tuple[int, Plan, bool]]:
    """Number, plan, and whether it started from the original text."""
    done = {change.attempt for change in state.changes}
    numbered = enumerate(state.attempts)
    return [(n, one.plan, one.base == "original") for n, one in numbered if one.plan and n in done]


def _missing(state: TaskState, policy: EvaluationPolicy) -> str:
    if failing_run(state) is None:
        return "the evidence is incomplete: no failing test run was observed"
    if not _texts(state, policy, "original"):
        return "the evidence is incomplete: no file that may be changed was read"
    return ""


def _repair_problem(state: TaskState, policy: EvaluationPolicy, found: Repair) -> str | None:
    if found.decision not in DECISIONS:
        return f"decision is {found.decision!r}: decide on {', '.join(DECISIONS)}"
    wrong = _cite_problem(state, found.cites)
    if wrong or found.decision != "repair":
        return wrong
    if found.plan is None:
        return "the decision is repair and plan is null: give the new plan"
    return _plan_problem(state, policy, found.plan, found.base)


def _plan_problem(state: TaskState, policy: EvaluationPolicy, plan: Plan, base: Base) -> str | None:
    if not plan.steps or not all(step.strip() for step in plan.steps):
        return "steps is empty: say in at least one sentence what will be done"
    if not plan.edits:
        return "edits is empty: a plan without an edit changes nothing"
    paths = by_path(plan.edits)
    if len(paths) > policy.max_files:
        return f"the edits change {len(paths)} files, at most {policy.max_files} may change"
    undeclared = sorted(set(paths) - set(plan.files_to_change))
    if undeclared:
        return f"the edits change {', '.join(undeclared)}, which files_to_change does not name"
    return _cite_problem(state, plan.cites) or _edit_problem(state, policy, paths, base) or _repeated(state, plan, base)


def _cite_problem(state: TaskState, cites: tuple[str, ...]) -> str | None:
    known = [one.id for one in state.observations] + [one.id for one in state.verifications]
    false = [cite for cite in cites if cite not in known]
    if cites and not false:
        return None
    return f"cites names {', '.join(false) or 'nothing'}: cite what you rest on, of {', '.join(known)}"


def _edit_problem(
    state: TaskState, policy: EvaluationPolicy, paths: Mapping[str, list[Edit]], base: Base
) -> str | None:
    files = _texts(state, policy, base)
    for path, edits in paths.items():
        if not policy.may_write(path):
            return f"{path} may not be changed: it is protected, or not among the files that may"
        if path not in files:
            return f"{path} was not shown, so it can't be edited: there are {', '.join(sorted(files))}"
        try:
            after = apply_edits(files[path], edits)
        except EditError as error:
            return f"an edit of {path} does not apply to its {base} text: {error}"
        if after == files[path]:
            return f"the edits leave {path} as it is"
        if path.endswith(".py") and _parses(files[path]) and not _parses(after):
            return f"{path} would not be Python any more after the edits"
    return None


def _parses(text: str) -> bool:
    try:
        parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _repeated(state: TaskState, plan: Plan, base: Base) -> str | None:
    for number, earlier, fresh in _carried_out(state):
        if fresh == (base == "original") and _keys(earlier) == _keys(plan):
            return f"these edits are those of attempt {number}, which was verified and failed"
    return None


def _keys(plan: Plan) -> list[tuple[str, str, str]]:
    return sorted((edit.path, edit.old, edit.new) for edit in plan.edits)
