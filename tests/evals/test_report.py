"""Tiers, medians, spreads, and what moved against a baseline: worked out by hand beside what the report says."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from graph_agent.cli.eval_table import comparison_text, progress_line, report_text
from graph_agent.evals.compare import compared
from graph_agent.evals.report import BaselineError, Spread, data_of, properties_of, rows_of, saved
from tests.evals.making import evaluated, missed, ran

TWO_REPEATS = (
    ran("repair/a", 1, steps=4, replans=0, visible="pass", held_out="pass"),
    ran("repair/a", 2, steps=8, replans=2, visible="pass", held_out="pass"),
    ran("repair/b", 1, steps=6, replans=0, visible="pass", held_out="pass"),
    missed("repair/b", 2, steps=20, replans=6, visible="pass", held_out="fail"),
)


def test_a_tier_has_its_success_its_medians_and_their_spread_over_the_repeats() -> None:
    (row,) = rows_of(evaluated(*TWO_REPEATS, repeat=2, scripted=("repair/b",)))
    assert (row.tasks, row.scripted, row.held, row.runs) == (2, 1, 3, 4)
    assert (row.least, row.most) == (0.5, 1.0)
    assert row.costs["steps"] == Spread(median=7, least=5, most=14)
    assert row.costs["replans"] == Spread(median=1, least=0, most=4)


def test_visible_passes_stand_beside_held_out_passes() -> None:
    (row,) = rows_of(evaluated(*TWO_REPEATS))
    assert (row.visible, row.held_out) == ((4, 4), (3, 4))


def test_a_crash_counts_against_success_and_in_no_median() -> None:
    crash = missed("repair/c", 1, outcome="crashed", steps=0)
    (row,) = rows_of(evaluated(ran("repair/a", 1, steps=9), crash))
    assert (row.held, row.runs, row.broken) == (1, 2, 1)
    assert row.costs["steps"].median == 9


def test_there_is_a_row_for_each_tier_of_each_workflow() -> None:
    runs = (ran("research/x", tier=3), ran("repair/a", tier=2), ran("repair/b", tier=1))
    assert [(row.workflow, row.tier) for row in rows_of(evaluated(*runs))] == [
        ("repair", 1),
        ("repair", 2),
        ("research", 3),
    ]


def test_the_order_of_the_runs_changes_nothing() -> None:
    shuffled = list(TWO_REPEATS)
    random.Random(1).shuffle(shuffled)
    assert rows_of(evaluated(*shuffled)) == rows_of(evaluated(*TWO_REPEATS))


CITES, SCHEMA = "cites what it was given", "keeps to the schema"


def test_each_property_has_a_row_of_its_own() -> None:
    nodes = (
        ran("node/a", properties={CITES: True, SCHEMA: True}, calls=1),
        missed("node/b", properties={CITES: False, SCHEMA: True}, calls=2),
    )
    cites, schema = properties_of(evaluated(*nodes))
    assert (cites.name, cites.held, cites.runs, cites.failing) == (CITES, 1, 2, ("node/b",))
    assert (schema.name, schema.held, schema.runs, schema.failing) == (SCHEMA, 2, 2, ())
    assert cites.calls.median == 1.5


def test_a_node_whose_run_crashed_holds_nothing() -> None:
    once = ran("node/a", 1, properties={CITES: True})
    (row,) = properties_of(evaluated(once, missed("node/a", 2, outcome="crashed")))
    assert (row.held, row.runs, row.failing) == (1, 2, ("node/a",))
    (lost,) = properties_of(evaluated(missed("node/c", outcome="crashed")))
    assert (lost.name, lost.held, lost.runs) == ("comes to an end", 0, 1)


def test_what_is_saved_is_read_again() -> None:
    whole = evaluated(*TWO_REPEATS, scripted=("repair/b",))
    assert saved(json.loads(json.dumps(data_of(whole)))) == whole


@pytest.mark.parametrize("data", [[], {"format": 2}, {"format": 1, "model": "offline"}], ids=str)
def test_what_is_no_evaluation_is_refused(data: Any) -> None:
    with pytest.raises(BaselineError, match="no saved evaluation of format 1"):
        saved(data)


def test_success_that_fell_is_worse_and_names_the_runs_to_look_at() -> None:
    now = evaluated(ran("repair/a", 1), missed("repair/a", 2), missed("repair/a", 3))
    then = evaluated(ran("repair/a", 1), ran("repair/a", 2), ran("repair/a", 3))
    (change,) = compared(then, now).worse
    assert (change.figure, change.before, change.now) == ("success", "3 of 3", "1 of 3")
    assert change.runs == ("repair-a-2", "repair-a-3")
    assert change.why == "it ended at human, not at done"
    (change,) = compared(now, then).better
    assert (change.before, change.now) == ("1 of 3", "3 of 3")


def test_a_cost_has_moved_only_where_the_runs_do_not_overlap() -> None:
    def at(*steps: int) -> Any:
        return evaluated(*(ran("repair/a", number, steps=each) for number, each in enumerate(steps, 1)))

    (change,) = compared(at(4, 5, 6), at(8, 9, 10)).worse
    assert (change.figure, change.before, change.now, change.runs) == ("steps", "5", "9", ("repair-a-3",))
    (change,) = compared(at(8, 9, 10), at(4, 5, 6)).better
    assert change.figure == "steps"
    assert compared(at(4, 5, 6), at(6, 9, 10)).changes == (), "they overlap"
    assert compared(at(100, 100, 100), at(105, 105, 105)).changes == (), "too little to be told"


def test_a_run_that_fails_early_is_not_called_cheaper() -> None:
    then, now = evaluated(ran("repair/a", steps=20)), evaluated(missed("repair/a", steps=2))
    assert [one.figure for one in compared(then, now).changes] == ["success"]


def test_a_task_that_is_not_what_it_was_is_not_compared() -> None:
    then = evaluated(ran("repair/a"), ran("repair/gone"))
    now = evaluated(missed("repair/a"), ran("repair/new"), tasks={"repair/a": "0" * 16, "repair/new": "1" * 16})
    found = compared(then, now)
    assert (found.changes, found.changed, found.gone, found.new) == (
        (),
        ("repair/a",),
        ("repair/gone",),
        ("repair/new",),
    )


def test_the_table_has_each_figure_beside_its_counter_figure() -> None:
    told = report_text(evaluated(*TWO_REPEATS, repeat=2, scripted=("repair/b",)))
    header = next(line for line in told.splitlines() if line.startswith("workflow"))
    assert header.split() == [
        "workflow", "tier", "tasks", "success", "steps", "turns", "replans", "tokens", "calls", "visible", "held-out"
    ]  # fmt: skip
    assert "2 (1 scripted)  3/4 (50%-100%)  7 (5-14)" in told
    assert "4/4       3/4" in told
    assert "missed: repair-b-2: it ended at human, not at done" in told


def test_the_comparison_is_told_with_what_to_look_at() -> None:
    then, now = evaluated(ran("repair/a")), evaluated(missed("repair/a"), model="m at u")
    told = comparison_text(compared(then, now), "old.json")
    assert "against old.json: 0 better, 1 worse, 0 tasks the same" in told
    assert "the model was offline then and is m at u now" in told
    assert "worse: repair/a: success 1 of 1 -> 0 of 1 (it ended at human, not at done); look at repair-a-1" in told


def test_progress_says_what_was_missed_in_a_line() -> None:
    assert progress_line(3, 90, ran(seconds=1.23)) == "[ 3/90] repair/pager 1: held, 5 steps, 1.2 s"
    assert "MISSED, it ended at human" in progress_line(4, 90, missed())
