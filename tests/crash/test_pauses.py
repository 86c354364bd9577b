"""A run that waits for a person, killed while it waits and while it is answered: it asks once, and is answered once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, FakeLLM, Run, run_graph
from graph_agent.runtime.errors import AnswerError
from graph_agent.runtime.reading import read_run
from graph_agent.testing.crash import RUN, Crash, check_every_crash, crash_at, run_to_end
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import outbox, sent

pytestmark = pytest.mark.slow

ANSWER = 4  # work, check, the limit, and then the answer


def make(folder: Path) -> Any:
    """One turn is allowed, two are needed: a person is asked in between, after two visits."""
    send = outbox(folder)

    def work(state: Count, ctx: Context) -> Any:
        ctx.llm.complete({"count": state.count})
        return send(state, ctx)

    graph = counting(work, model=True, effects=True, on_interrupted="retry", on_limit=Stage.HUMAN)
    return graph, start(task_id="run", max_turns=1), Context(llm=FakeLLM(lambda _: "yes"))


def allow_more(state: Any) -> dict[str, Any]:
    return {"max_turns": 5}


def keys(folder: Path) -> list[str]:
    return list(dict.fromkeys(sent(folder)))


def kinds(folder: Path) -> list[str]:
    return [str(record["type"]) for record in read_run(folder / RUN)[0]]


def test_a_run_that_is_answered_ends_the_same_wherever_it_is_killed(tmp_path: Path) -> None:
    """The header: 2; two visits with effects: 2 * 3; five steps of nodes: 5 * 3; the question and the answer: 2 * 2."""
    killed = check_every_crash(make, tmp_path, probe=keys, answer=allow_more, snapshots=(3, 4))
    assert killed == 2 + 2 * 3 + 5 * 3 + 2 * 2 + 2 * 2
    assert run_to_end(make, tmp_path / "undisturbed").state.stage is Stage.DONE


@pytest.mark.parametrize(
    ("point", "step"),
    [
        ("after record", ANSWER - 1),
        ("within asked", ANSWER),
        ("after asked", ANSWER),
        ("within record", ANSWER),
        ("after record", ANSWER),
    ],
)
def test_it_is_asked_once_and_answered_once(tmp_path: Path, point: str, step: int) -> None:
    crash_at(make, tmp_path, Crash(point, step), answer=allow_more)
    ended = run_to_end(make, tmp_path, answer=allow_more)
    assert (ended.state.stage, ended.state.max_turns) == (Stage.DONE, 5)
    assert (kinds(tmp_path).count("asked"), kinds(tmp_path).count("answered")) == (1, 1)


def test_a_run_that_nobody_answers_waits_as_long_as_it_takes(tmp_path: Path) -> None:
    crash_at(make, tmp_path, Crash("after asked", ANSWER))
    for _ in range(3):
        assert run_to_end(make, tmp_path).state.stage is Stage.HUMAN
    assert kinds(tmp_path)[-1] == "asked"


def test_an_answer_that_was_torn_was_not_given_and_one_that_is_whole_holds(tmp_path: Path) -> None:
    for point, stands_at in (("within record", Stage.HUMAN), ("after record", Stage.WORK)):
        place = tmp_path / point.replace(" ", "-")
        crash_at(make, place, Crash(point, ANSWER), answer=allow_more)
        graph, _, ctx = make(place)
        with Run.open(place / RUN, graph) as run:
            assert run.state.stage is stands_at
            if stands_at is Stage.HUMAN:
                run.answer({"max_turns": 5}, pause_id="run:2")
            else:
                with pytest.raises(AnswerError, match="nothing is asked"):
                    run.answer({"max_turns": 9}, pause_id="run:2")
            assert run_graph(graph, run.state, ctx, journal=run).max_turns == 5
