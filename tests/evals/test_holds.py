"""What must hold at the end is looked up in the last state, and what does not is said."""

from __future__ import annotations

from typing import Any

import pytest

from graph_agent.evals.forms import AnswerHolds, Bound, ByDefault, Holds
from graph_agent.evals.holds import missed, missed_changes

STATE: dict[str, Any] = {
    "stage": "done",
    "route_reason": "answered",
    "replans": 1,
    "results": [{"text": "a"}, {"text": "b"}],
    "review": True,
    "answer": {
        "text": "The gate  is closed\nat 20 metres [E1].",
        "sources": [{"id": "E1", "place": "storm.md:3-4"}],
        "caveats": ["old.md was superseded: by storm.md"],
    },
}


def found(**holds: Any) -> tuple[str, ...]:
    whole = Holds(**{"outcome": ("done",), **holds})
    return missed(whole, stages={"plan", "verify", "done"}, state=STATE, by_default=True)


def test_what_holds_is_not_told() -> None:
    answer = AnswerHolds(has=("is closed at 20 metres",), cites=("storm.md",), spares=("old.md",), caveat="superseded")
    bounds = {
        "replans": Bound(least=1, most=1, equals=1),
        "results": Bound(least=2),
        "results.-1.text": Bound(equals="b", has="b"),
        "review": Bound(equals=True),
    }
    assert found(passes=("verify",), avoids=("human",), fields=bounds, answer=answer) == ()


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ({"outcome": ("human",)}, "it ended at done, not at human: answered"),
        ({"passes": ("repair",)}, "it was never at repair"),
        ({"avoids": ("plan",)}, "it was at plan"),
        ({"fields": {"replans": Bound(most=0)}}, "replans is 1, more than 0"),
        ({"fields": {"results": Bound(least=3)}}, "less than 3"),
        ({"fields": {"review": Bound(equals=1)}}, "review is True, not 1"),
        ({"fields": {"answer.status": Bound(equals="x")}}, "there is no answer.status in the state"),
        ({"fields": {"results.5": Bound(has="x")}}, "there is no results.5 in the state"),
        ({"fields": {"route_reason": Bound(has="given up")}}, "without 'given up'"),
        ({"answer": AnswerHolds(has=("24 metres",))}, "the answer does not say '24 metres'"),
        ({"answer": AnswerHolds(lacks=("20 metres",))}, "the answer says '20 metres'"),
        ({"answer": AnswerHolds(cites=("fuel.txt",))}, "fuel.txt is not cited, but storm.md"),
        ({"answer": AnswerHolds(spares=("storm.md",))}, "storm.md is cited"),
        ({"answer": AnswerHolds(caveat="contradict")}, "no caveat says 'contradict'"),
    ],
    ids=str,
)
def test_what_does_not_hold_is_told(holds: dict[str, Any], said: str) -> None:
    (sentence,) = found(**holds)
    assert said in sentence


def test_a_run_without_an_answer_is_told() -> None:
    holds = Holds(outcome=("done",), answer=AnswerHolds(has=("x",)))
    assert missed(holds, stages=(), state={**STATE, "answer": None}, by_default=True) == ("there is no answer",)


def test_what_makes_a_task_hard_for_its_own_model_does_not_bind_another() -> None:
    own = ByDefault(passes=("repair",), fields={"replans": Bound(least=2)})
    holds = Holds(outcome=("done",), by_default=own)
    assert len(missed(holds, stages=(), state=STATE, by_default=True)) == 2
    assert missed(holds, stages=(), state=STATE, by_default=False) == ()


def test_exactly_the_files_named_may_differ() -> None:
    holds = Holds(outcome=("done",), changes=("a.py", "b.py"))
    assert missed_changes(holds, ["b.py", "a.py"]) == ()
    assert missed_changes(holds, ["a.py"]) == ("the files changed are a.py, not a.py, b.py",)
    assert missed_changes(Holds(outcome=("done",)), ["a.py"]) == ()
