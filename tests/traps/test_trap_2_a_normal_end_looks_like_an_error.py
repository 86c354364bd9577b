"""Trap 2: a normal end emits a warning or looks like an error. Here an end is a stage, reached by an edge."""

from __future__ import annotations

import warnings

from graph_agent import run_graph, stream
from tests.traps.loop import Journal, Stage, State, loop


def test_a_run_ends_at_a_declared_stage_with_a_reason_and_without_a_word(capfd):
    journal = Journal()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        final = run_graph(loop(), State(task_id="t"), journal=journal)
    assert (final.stage, final.route_reason) == (Stage.DONE, "the check passed")
    assert warned == []
    assert capfd.readouterr() == ("", "")
    assert {(event.kind, event.error) for event in journal.events} == {("finished", None)}
    assert journal.events[-1].to == "done"


def test_a_run_that_has_ended_is_ended():
    final = run_graph(loop(), State(task_id="t"))
    assert run_graph(loop(), final) is final
    assert list(stream(loop(), final)) == []
