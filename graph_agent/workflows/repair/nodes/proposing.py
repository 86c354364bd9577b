"""What PLAN and REPAIR share: the projection that a model sees, the asking, and the rules that a plan must pass.

A model's plan is data: it is parsed, checked against the policy and the texts it means to change, corrected once, and
never obeyed. The rule: whoever proposes (a strong model, a weak one, the rule-based one), the same checks apply.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from graph_agent.llm.ask import ask
from graph_agent.llm.edits import Edit, EditError, EditFormat, apply_edits, edits_from_reply, instructions_for
from graph_agent.llm.ask import NotAccepted, NotJSON, NotSchema, Refused, Truncated
from graph_agent.protocols import Context, Reply, Request
from graph_agent.workflows.repair.nodes.evidence import failing_run, shortened
from graph_agent.workflows.repair.policy import EvaluationPolicy
from graph_agent.workflows.repair.state import Observation, Plan, TaskState

T = TypeVar("T")
Base = Literal["original", "current"]


@dataclass(frozen=True, kw_only=True)
class Question(Generic[T]):
    """What is asked, and how an answer becomes a T: read as JSON, or made of what a fence of code amounts to."""

    instructions: str
    context: Mapping[str, Any]
    into: type[T]
    problem: Callable[[T], str | None]
    of_plan: Callable[[Plan], T]


def proposed(ctx: Context, state: TaskState, question: Question[T], /) -> tuple[T | None, tuple[str, ...]]:
    """The first valid answer of at most two, and what was wrong with the invalid ones.

    After an invalid answer the model is shown it and its fault, and asked in the policy's next format.
    """
    policy: EvaluationPolicy = ctx.policy
    wrong: list[str] = []
    again: dict[str, str] = {}
    for shape in (*policy.formats, policy.formats[-1])[:2]:
        asked = replace(question, context={**question.context, **again})
        try:
            return _answer(ctx, state, asked, shape), tuple(wrong)
        except (Truncated, Refused) as error:
            wrong.append(str(error))  # asked again it would be cut, or refused, again
            break
        except (NotJSON, NotSchema, NotAccepted) as error:
            wrong.append(str(error))
            again = {"your_last_answer": shortened(error.raw), "what_was_wrong": error.message}
    return None, tuple(wrong)


def _answer(ctx: Context, state: TaskState, asked: Question[T], shape: EditFormat) -> T:
    if shape != "replace":
        return _as_code(ctx, state, asked, shape)
    request = Request(instructions=asked.instructions, context=asked.context)
    return ask(ctx.llm, request, asked.into, corrections=0, check=asked.problem)


def _as_code(ctx: Context, state: TaskState, asked: Question[T], shape: EditFormat) -> T:
    """An answer that is a fence of code: the plan around it is what can be known without the model's word."""
    files = texts(state, ctx.policy, "original")
    request = Request(instructions=f"{asked.instructions}\n\n{instructions_for(shape)}", context=asked.context)
    reply: Reply = ctx.llm.complete(request)
    if reply.finish == "length":
        raise Truncated("the answer was cut at the token limit; raise max_tokens", raw=reply.text)
    if reply.finish == "refused":
        raise Refused(f"the model refused to answer: {reply.text[:200] or 'no reason given'}", raw=reply.text)
    try:
        edits = edits_from_reply(shape, reply.text, files)
    except EditError as error:
        raise NotAccepted(str(error), raw=reply.text) from error
    paths = tuple(dict.fromkeys(edit.path for edit in edits))
    plan = Plan(
        hypothesis=shortened(reply.text.split("```")[0].strip(), 400) or "none was given",
        steps=tuple(f"replace {shape} text in {path}" for path in paths),
        files_to_change=paths,
        cites=tuple(one.id for one in state.observations if one.path in paths or one.check),
        edits=edits,
    )
    value = asked.of_plan(plan)
    wrong = asked.problem(value)
    if wrong:
        raise NotAccepted(wrong, raw=reply.text)
    return value


def context_of(state: TaskState, policy: EvaluationPolicy) -> dict[str, Any]:
    """The projection of the state that goes to a model: no times, no absolute paths, nothing of the held-out tests."""
    failing = failing_run(state)
    files = texts(state, policy, "original")
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
    """An observation in a line. What stands elsewhere in the context (a file, the failing output) is not told twice."""
    text = "" if one.path or one.check or one.lines else shortened(one.text, 1_000)
    return {"id": one.id, "source": f"{one.source} {one.path}".rstrip(), "text": text}


def history_of(state: TaskState) -> dict[str, Any]:
    """What was tried, and what the latest verification shows: of the held-out tests, whether they passed."""
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


def texts(state: TaskState, policy: EvaluationPolicy, base: Base) -> dict[str, str]:
    """The files that may be changed and were read: as they were, or with the latest plan's edits in."""
    read = [one for one in state.observations if one.source == "read_file" and policy.may_write(one.path)]
    files = {one.path: one.text for one in read}
    if base == "current":
        for _, plan, fresh in _carried_out(state):
            files = _edited({one.path: one.text for one in read} if fresh else files, plan.edits)
    return files


def _carried_out(state: TaskState) -> list[tuple[int, Plan, bool]]:
    """The attempts carried out so far: number, plan, and whether it started from the original text."""
    done = {change.attempt for change in state.changes}
    numbered = enumerate(state.attempts)
    return [(n, one.plan, one.base == "original") for n, one in numbered if one.plan and n in done]


def _edited(files: Mapping[str, str], edits: tuple[Edit, ...]) -> dict[str, str]:
    return {**files, **{path: apply_edits(files[path], of_file) for path, of_file in by_path(edits).items()}}


def by_path(edits: tuple[Edit, ...]) -> dict[str, list[Edit]]:
    """The edits of each file, files and edits in the order of the plan."""
    found: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        found[edit.path].append(edit)
    return dict(found)


def missing_evidence(state: TaskState, policy: EvaluationPolicy) -> str:
    """Why there is too little to plan on, or ""."""
    if failing_run(state) is None:
        return "the evidence is incomplete: no failing test run was observed"
    if not texts(state, policy, "original"):
        return "the evidence is incomplete: no file that may be changed was read"
    return ""


def plan_problem(state: TaskState, policy: EvaluationPolicy, plan: Plan, base: Base) -> str | None:
    """The first rule that a plan breaks, as a sentence for the model; None when it breaks none."""
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
    known = known_ids(state)
    false = [cite for cite in cites if cite not in known]
    if false:
        return (
            f"cites names {', '.join(false)}: no observation or verification has that id, there are {', '.join(known)}"
        )
    return None if cites else f"cites is empty: name what the hypothesis rests on, of {', '.join(known)}"


def known_ids(state: TaskState) -> list[str]:
    """What may be cited."""
    return [one.id for one in state.observations] + [one.id for one in state.verifications]


def _edit_problem(
    state: TaskState, policy: EvaluationPolicy, paths: Mapping[str, list[Edit]], base: Base
) -> str | None:
    files = texts(state, policy, base)
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
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _repeated(state: TaskState, plan: Plan, base: Base) -> str | None:
    made = sorted(map(_key, plan.edits))
    for number, earlier, fresh in _carried_out(state):
        if fresh == (base == "original") and sorted(map(_key, earlier.edits)) == made:
            return f"these edits are those of attempt {number}, which was verified and failed"
    return None


def _key(edit: Edit) -> tuple[str, str, str]:
    return edit.path, edit.old, edit.new


def plan_check_observations(state: TaskState, wrong: tuple[str, ...]) -> tuple[Observation, ...]:
    """What was wrong with a model's answers, as observations: a later plan may cite them, a reader can see them."""
    first = len(state.observations)
    return tuple(Observation(id=f"O{first + n}", source="plan check", text=text) for n, text in enumerate(wrong, 1))
