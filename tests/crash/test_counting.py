"""A small job with an effect, killed at every point: it is done once for each key, and ends as if nothing had been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graph_agent import Context, Graph, compact
from graph_agent.testing.crash import (
    RUN,
    Crash,
    CrashedDifferently,
    check_every_crash,
    crash_at,
    run_to_end,
)
from tests.runtime.counting import Count, Stage, counting, start
from tests.runtime.kept import outbox, sent

pytestmark = pytest.mark.slow

EFFECT = ("before started", "within started", "after started", "after effect", "within record", "after record")


def make(folder: Path) -> Any:
    graph: Graph[Count] = counting(outbox(folder), effects=True, on_interrupted="retry")
    return graph, start(task_id="run"), Context()


def keys(folder: Path) -> list[str]:
    """The effects, a repeated key counted once, as whoever receives them can."""
    return list(dict.fromkeys(sent(folder)))


def test_a_run_that_is_killed_anywhere_ends_as_one_that_is_not(tmp_path: Path) -> None:
    """The header: 2 points; two visits with effects: 2 * 3; four steps: 4 * 3, and 4 * 2 of a snapshot."""
    assert check_every_crash(make, tmp_path, probe=keys) == 28


def test_an_effect_is_repeated_where_its_record_is_missing_and_nowhere_else(tmp_path: Path) -> None:
    repeated = {}
    for point in EFFECT:
        place = tmp_path / point.replace(" ", "-")
        crash_at(make, place, Crash(point, 1))
        run_to_end(make, place)
        repeated[point] = sent(place).count("run:work:1") - 1
    assert repeated == {
        "before started": 0,
        "within started": 0,
        "after started": 0,
        "after effect": 1,
        "within record": 1,
        "after record": 0,
    }


def test_a_second_crash_during_the_resume_of_the_first(tmp_path: Path) -> None:
    expected = run_to_end(make, tmp_path / "whole", probe=keys)
    for first in EFFECT:
        for second in ("after effect", "within record", "after record"):
            place = tmp_path / f"{first}-{second}".replace(" ", "-")
            crash_at(make, place, Crash(first, 1))
            crash_at(make, place, Crash(second, 1))  # the first step of what was left
            assert run_to_end(make, place, probe=keys) == expected


def test_a_job_that_is_not_the_same_each_time_is_found_out(tmp_path: Path) -> None:
    def forgets(folder: Path) -> Any:
        """It counts in memory, which a killed process takes along."""
        made = [0]

        def work(state: Count, ctx: Context) -> Any:
            made[0] += 1
            return {"count": state.count + 1, "log": (f"{made[0]}",)}

        return counting(work), start(task_id="run"), Context()

    with pytest.raises(CrashedDifferently) as error:
        check_every_crash(forgets, tmp_path)
    assert str(error.value).startswith(
        "killed after record of step 1: it ended otherwise: log is ('1', '1') and not ('1', '2')"
    )
    assert error.value.crash == Crash("after record", 1)


def test_an_effect_that_is_done_twice_is_found_by_the_probe(tmp_path: Path) -> None:
    with pytest.raises(CrashedDifferently, match="killed after effect of step 1: the probe found"):
        check_every_crash(make, tmp_path, probe=sent)


def test_a_point_that_the_run_does_not_come_by_is_said(tmp_path: Path) -> None:
    with pytest.raises(CrashedDifferently, match="killed after started of step 2: the run does not come by there"):
        crash_at(make, tmp_path, Crash("after started", 2))


def test_a_process_that_fails_is_no_process_that_was_killed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(folder: Path) -> Any:
        raise ValueError("no such job")

    with pytest.raises(CrashedDifferently, match="its process ended by itself with 1"):
        crash_at(broken, tmp_path, Crash("after record", 1))
    assert "no such job" in capfd.readouterr().err


def test_what_a_killed_compaction_leaves_is_ignored_and_the_next_one_works(tmp_path: Path) -> None:
    crash_at(make, tmp_path, Crash("within snapshot", 3))
    left = [path.name for path in (tmp_path / RUN).iterdir() if path.name.startswith(".journal-")]
    assert len(left) == 1
    assert compact(tmp_path / RUN, keep=1)
    assert run_to_end(make, tmp_path).state.stage is Stage.DONE
