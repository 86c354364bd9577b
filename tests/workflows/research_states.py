"""States of a research, made by hand: a plan of two layers, and verdicts of every kind on the first."""

from __future__ import annotations

from typing import Any

from graph_agent.workflows.research.state import (
    Answer,
    DeadEnd,
    Evidence,
    Item,
    Plan,
    ResearchState,
    Result,
    Stage,
    Step,
    Verdict,
)


def step(name: str = "s1", kind: Any = "work", needs: tuple[str, ...] = (), **more: Any) -> Step:
    given: dict[str, Any] = {"goal": f"find {name}", "done_when": ("it is said", "it is cited")}
    return Step(id=name, kind=kind, depends_on=needs, **{**given, **more})


PLAN = Plan(steps=(step("s1"), step("s2", "close", ("s1",))))
UNCLEAR = Plan(steps=(), unclear="Which of the two?")
FULL, PART = Answer(status="complete", text="It is so [E1]."), Answer(status="partial", text="", why="nothing is known")
DEAD = DeadEnd(fingerprint="f" * 16, tried="find s1", why="nothing found", failed=("it is said",))


def task(**more: Any) -> ResearchState:
    """Where the first plan has just been made."""
    given: dict[str, Any] = {
        "task_id": "r",
        "goal": "How high?",
        "plan": PLAN,
        "plan_no": 1,
        "planned_goal": "How high?",
    }
    return ResearchState(**{"stage": Stage.PLAN, **given, **more})


def result(name: str = "s1", **more: Any) -> Result:
    given: dict[str, Any] = {"plan": 1, "attempt": 0, "goal": f"find {name}", "text": "It is 25 metres high [E1]."}
    return Result(step=name, **{**given, **more})


EVIDENCE = Evidence(id="E1", by="read_document", text="0" * 64, digest="25 metres", plan=1, step="s1", source="a.md")


def verdict(*statuses: Any, on: str = "s1", **more: Any) -> Verdict:
    """One item a status, on one step."""
    items = tuple(Item(step=on, attempt=0, criterion=f"criterion {n}", status=one) for n, one in enumerate(statuses, 1))
    return Verdict(**{"round": 1, "plan": 1, "cursor": 0, "layer": "goal", "items": items, **more})


YES, NO, THIN, DOUBT = "satisfied", "violated", "insufficient_evidence", "unknown"
PASSED = verdict(YES, YES)
LAST = verdict(YES, YES, on="s2", cursor=1, round=2)
REFUTED = verdict(YES, YES, refuted="there are two towers")
LOCAL = verdict(YES, NO)
THINLY = verdict(YES, THIN)
GLOBAL = verdict(NO, NO)
SPENT = verdict(YES, NO, spent=("s1",))
UNFORMED = verdict(NO, layer="structure")
UNBORNE = verdict(NO, layer="evidence")
UNKNOWN = verdict(YES, DOUBT)
BLOCKED = verdict(THIN, needs="the key of the archive")
DISPUTED = verdict(YES, THIN, disputed=("criterion 2",))


def verified(latest: Verdict, *earlier: Verdict, **more: Any) -> ResearchState:
    """After VERIFY's visit."""
    given = {"cursor": latest.cursor, "rounds": latest.round, "results": (result(),), "evidence": (EVIDENCE,)}
    return task(stage=Stage.VERIFY, verdicts=(*earlier, latest), **{**given, **more})
