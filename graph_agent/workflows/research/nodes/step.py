"""One step of a plan, carried out: a model says what to call next or delivers a result, and the node makes the calls.

The rule: every tool result becomes evidence under an id that is never given again, with the whole text kept beside the
run; what the state and the prompt hold of it is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from graph_agent.llm.ask import AskError, ask
from graph_agent.llm.moves import Call, Delivery, Move, arguments_of, move_problem
from graph_agent.protocols import Context, LLMError, Request, ToolResult
from graph_agent.runtime.errors import BlobError, nearest
from graph_agent.tools.sourced import Sourced, sourced
from graph_agent.verify.citations import marks
from graph_agent.workflows.research.nodes.memory import IN_FULL, gist_of, told_results
from graph_agent.workflows.research.policy import ResearchPolicy, ToolCard
from graph_agent.workflows.research.state import Evidence, ResearchState, Result, Step

INSTRUCTIONS = """\
Carry out one step of a research. Answer with a call of a tool, or with the result when you have what it takes.
A result consists of statements. Each rests on evidence and names it, such as [E1] or [E1, E3]; a quote stands in
double quotation marks or on a line that begins with ">", word for word as in the evidence; numbers are those of the
evidence. Where sources contradict each other, cite both and say so. If there is nothing to be found, the result is one
line: INSUFFICIENT: why. If only somebody outside can know it: BLOCKED: what is needed. If the result shows that what
the plan rests on is not so, add a last line REFUTES: why. Cite only what is in the evidence, not what you know."""

DELIVER = "No calls are left: give the result with what there is, or INSUFFICIENT: why."

CUT = " [... cut]"

MOST_BEFORE = 12
"""Pieces of earlier evidence that a prompt gets, the latest."""

_WORD = re.compile(r"^[\s*_-]*(INSUFFICIENT|BLOCKED|REFUTES)[*_]*\s*[:\uff1a][*_]*\s*(.*)$", re.MULTILINE)


@dataclass
class Work:
    """A step under way. Evidence gets ids from `first` on; `notes` is what a person has just added."""

    state: ResearchState
    ctx: Context
    step: Step
    attempt: int
    first: int
    may_act: bool
    notes: tuple[Evidence, ...] = ()
    evidence: list[Evidence] = field(default_factory=list)
    shown: list[dict[str, Any]] = field(default_factory=list)
    wrong_calls: int = 0
    wrong: str = ""

    @property
    def policy(self) -> ResearchPolicy:
        policy: ResearchPolicy = self.ctx.policy
        return policy

    @property
    def left(self) -> int:
        return self.policy.most_calls - len(self.evidence)

    def acted(self, evidence: Iterable[Evidence]) -> bool:
        """Whether some of it is of the step's own tool, and that does more than read."""
        card, own = self.policy.card(self.step.tool), (self.state.plan_no, self.step.id, self.step.tool)
        acts = card is not None and card.effect != "read"
        return acts and any((one.plan, one.step, one.by) == own for one in evidence)

    @property
    def cards(self) -> tuple[ToolCard, ...]:
        """What the step may call: what only reads, and its own tool where it may act."""
        own = self.step.tool if self.may_act else ""
        return tuple(one for one in self.policy.tools if one.effect == "read" or one.name == own)


def carry_out(work: Work) -> tuple[Result, tuple[Evidence, ...]]:
    """The step's result, which may be that there is none, and its evidence."""
    step = work.step
    if step.tool and not work.acted(work.state.evidence):  # what was done is not done again unasked
        called(work, Call(tool=step.tool, args=step.args))
    while not work.wrong_calls > 1:
        try:
            move = ask(work.ctx.llm, _request(work), Move, check=lambda made: _move_problem(work, made))
        except AskError as error:
            return _result(work, failed=f"the answer is of no use: {error.message}"), tuple(work.evidence)
        except LLMError as error:
            if not work.acted(work.evidence):
                raise
            return _result(work, failed=f"the model can't be asked: {error}"), tuple(work.evidence)
        if move.result is not None:
            return read_result(work, move.result), tuple(work.evidence)
        assert move.call is not None
        called(work, move.call)
    return _result(work, failed=f"twice a call that can't be made: {work.wrong}"), tuple(work.evidence)


def called(work: Work, call: Call) -> None:
    """Make a call; what comes of it is evidence, unless it could not be made: then `wrong` says why."""
    names = [card.name for card in work.cards]
    if call.tool not in names:
        there = ", ".join(names) or "none"
        work.wrong = f"{call.tool!r} is no tool of this step{nearest(call.tool, names)}: there are {there}"
        work.wrong_calls += 1
        return
    found: ToolResult = work.ctx.tools.call(call.tool, **arguments_of(call.args))
    if found.error is not None and found.error.kind == "bad_arguments":
        work.wrong = str(found.error)
        work.wrong_calls += 1
        return
    work.wrong = ""
    _keep(work, call, found)


def evidence_of(ctx: Context, name: str, by: str, found: Sourced, failed: str = "") -> Evidence:
    """A text as evidence: all of it kept, its beginning in the state."""
    policy: ResearchPolicy = ctx.policy
    empty = not found.text.strip()
    told = f"({failed or f'{by} found nothing'})" if empty else found.text
    return Evidence(
        id=name, by=by, text=ctx.keep(told), digest=shortened(told, policy.most_digest), source=found.source,
        span=found.span, heading=found.heading, version=found.version, summary=found.summary, caveat=found.caveat,
        empty=empty,
    )  # fmt: skip


def shortened(text: str, most: int) -> str:
    """The beginning of a text, with a mark where it was cut."""
    return text if len(text) <= most else text[: most - len(CUT)] + CUT


def read_result(work: Work, said: Delivery) -> Result:
    """What a model delivered, by its words. A line REFUTES stands apart from the statements."""
    words = {found[1]: " ".join(found[2].split()) or "no reason given" for found in _WORD.finditer(said.text)}
    text = _WORD.sub("", said.text).strip() if words else said.text.strip()
    refutes = words.get("REFUTES", "")
    if "BLOCKED" in words:
        return _result(work, needs=words["BLOCKED"], claim=said.claim, refutes=refutes)
    if "INSUFFICIENT" in words:
        return _result(work, insufficient=words["INSUFFICIENT"], claim=said.claim, refutes=refutes)
    return _result(work, text=text, gist=gist_of(text), claim=said.claim, refutes=refutes)


def _result(work: Work, **said: Any) -> Result:
    step = work.step
    return Result(plan=work.state.plan_no, step=step.id, attempt=work.attempt, goal=step.goal, **said)


def _move_problem(work: Work, move: Move) -> str | None:
    if move.call is not None and move.result is None and work.left <= 0:
        return DELIVER
    return move_problem(move)


def _request(work: Work) -> Request:
    """On a retry what was wrong comes first; the goal stands first after it, and last."""
    state, step = work.state, work.step
    context: dict[str, Any] = {}
    if reasons := _reasons(state, step):
        context["what_was_wrong_last_time"] = reasons
    context["goal"] = state.goal
    context["step"] = {"id": step.id, "kind": step.kind, "goal": step.goal, "done_when": list(step.done_when)}
    context["tools"] = [card.shown for card in work.cards] if work.left > 0 else []
    context["calls_left"] = max(0, work.left)
    context["results"] = told_results(state)
    context["evidence"] = [*_evidence_before(work), *work.shown]
    if work.wrong:
        context["your_last_call_was_wrong"] = work.wrong
    if work.left <= 0:
        context["now"] = DELIVER
    context["the_goal_again"] = state.goal
    return Request(instructions=INSTRUCTIONS, context=context, temperature=0.0)


def _reasons(state: ResearchState, step: Step) -> list[str]:
    verdict = state.verdict
    unmet = [one for one in verdict.items if one.step == step.id and one.unmet] if verdict else []
    return [f"{one.status}: {one.criterion}{f' ({one.why})' if one.why else ''}" for one in unmet]


def _evidence_before(work: Work) -> list[dict[str, Any]]:
    """What the step may cite besides its own: a former attempt's, what the results told in full cite, a person's."""
    state = work.state
    own = [one for one in state.latest_results if one.step == work.step.id]
    cited = {name for one in (*own, *state.accepted[-IN_FULL:]) for name in marks(one.text).ids}
    mine = (state.plan_no, work.step.id)
    told = [
        one
        for one in (*state.evidence, *work.notes)
        if one.id in cited or (one.plan, one.step) == mine or one.by == "person"
    ]
    latest = [one for one in told if not one.empty or one.by == work.step.tool][-MOST_BEFORE:]
    return [_shown(one, _text(work.ctx, one), work.policy) for one in latest]


def _text(ctx: Context, evidence: Evidence) -> str:
    try:
        return ctx.read(evidence.text)
    except BlobError:
        return evidence.digest


def _keep(work: Work, call: Call, found: ToolResult) -> None:
    error = str(found.error).encode("utf-8", "backslashreplace").decode()  # a tool may quote what is no text
    failed = "" if found.error is None else f"{call.tool} failed: {error}"
    text = sourced(call.tool, found.value) if found.ok else Sourced(text="")
    name = f"E{work.first + len(work.evidence)}"
    made = replace(evidence_of(work.ctx, name, call.tool, text, failed), plan=work.state.plan_no, step=work.step.id)
    work.evidence.append(made)
    whole = text.text if not made.empty else made.digest
    work.shown.append(_shown(made, whole, work.policy) | {"arguments": arguments_of(call.args)})


def _shown(one: Evidence, text: str, policy: ResearchPolicy) -> dict[str, Any]:
    told = {"id": one.id, "by": one.by, "source": one.place}
    told |= {name: getattr(one, name) for name in ("heading", "summary", "caveat")}
    told["text"] = shortened(text, policy.most_shown)
    return {name: value for name, value in told.items() if value}
