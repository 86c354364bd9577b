"""What a prompt is told of what went before: bounded, however long the run.

The rule: what is shortened is marked as shortened, and nothing here is asked of a model.
"""

from __future__ import annotations

from typing import Any

from graph_agent.verify.statements import statements
from graph_agent.workflows.research.state import DeadEnd, Plan, ResearchState, Result, accepted_results, digest, normal

IN_FULL = 3
"""Results that are told word for word; older ones as their gist."""

MOST_GIST = 120
MOST_CITES = 5
MOST_LINE = 160
MOST_LINES = 8
MOST_HINT = 120
MOST_SAID = 90
"""Of a criterion, and of why it is not met: with them the digest of a failure has about 300 tokens."""

CUT = " ... (shortened)"


def cut(text: str, most: int) -> str:
    """One line of at most so many characters, marked where it was cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - len(CUT)].rstrip() + CUT


def gist_of(text: str) -> str:
    """The first statement of a result, with what it cites."""
    said = statements(text)
    if not said:
        return cut(text, MOST_GIST)
    cites = f" [{', '.join(said[0].cites[:MOST_CITES])}]" if said[0].cites else ""
    more = f" and {len(said) - 1} more statements" if len(said) > 1 else ""
    return cut(said[0].text, MOST_GIST - len(cites) - len(more)) + cites + more


def told_results(state: ResearchState) -> list[dict[str, Any]]:
    """The accepted results of this plan: the last three in full, older ones as their gist."""
    done = state.accepted
    full = {one.step for one in done[-IN_FULL:]}
    return [
        {"step": one.step, "goal": one.goal, "text": one.text}
        if one.step in full
        else {"step": one.step, "goal": cut(one.goal, MOST_LINE), "gist": one.gist, "shortened": True}
        for one in done
    ]


def accepted_lines(state: ResearchState) -> list[dict[str, str]]:
    """For the planner: one line for each result that was accepted under any plan, the latest for each goal."""
    latest = {normal(one.goal): one for one in accepted_results(state)}
    kept = list(latest.values())[-MOST_LINES:]
    return [{"goal": one.goal, "gist": one.gist} for one in kept]


def dead_end_lines(ends: tuple[DeadEnd, ...]) -> list[str]:
    """One line for each plan that failed, the latest last."""
    lines = [cut(f"tried {one.tried}, failed because {one.why}", 2 * MOST_LINE) for one in ends[-MOST_LINES:]]
    left = len(ends) - len(lines)
    return [f"and {left} earlier ones", *lines] if left else lines


def failure_digest(state: ResearchState) -> dict[str, Any] | None:
    """What was not met, on what evidence, one hint, and the last five reasons; at most about 300 tokens."""
    verdict = state.verdict
    if verdict is None or (verdict.status == "PASS" and not verdict.refuted):
        return None
    unmet = [one for one in verdict.items if one.status != "satisfied"]
    told = [{"criterion": cut(one.criterion, MOST_SAID), "why": cut(one.why, MOST_SAID)} for one in unmet[:3]]
    hint = f"refuted: {verdict.refuted}" if verdict.refuted else verdict.reason
    return {
        "unmet": told,
        "hint": cut(hint, MOST_HINT),
        "last_reasons": [cut(one, 70) for one in state.reasons[-5:]],
    }


def fingerprint_of(plan: Plan) -> str:
    """The same for plans that differ in case, white space, punctuation, width or the order of their steps."""
    return digest(sorted(f"{normal(step.goal)} / {normal(step.tool)}" for step in plan.steps))


def dice(one: str, other: str) -> float:
    """Share of common character bigrams (Dice, 1945): 2 * common / all, of the normalised texts; 1.0 for equal ones."""
    first, second = _bigrams(one), _bigrams(other)
    if not first or not second:
        return float(normal(one) == normal(other))
    left = list(second)
    common = 0
    for pair in first:
        if pair in left:
            left.remove(pair)
            common += 1
    return 2 * common / (len(first) + len(second))


def kept_result(state: ResearchState, goal: str, near: float = 0.8) -> Result | None:
    """The result accepted under an earlier plan for the same goal, or the nearest one that is near the same."""
    earlier = [one for one in accepted_results(state) if one.plan < state.plan_no]
    scored = [(dice(one.goal, goal), number, one) for number, one in enumerate(earlier)]
    best = max(scored, key=lambda found: found[:2], default=None)
    return best[2] if best is not None and best[0] >= near else None


def _bigrams(text: str) -> list[str]:
    plain = normal(text).replace(" ", "")
    return [plain[at : at + 2] for at in range(len(plain) - 1)]
