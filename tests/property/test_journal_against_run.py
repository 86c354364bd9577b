"""The journal against the run: its fold is the run's state at each step, and a run cut anywhere goes on as if uncut."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent import Context, RunError, encode
from graph_agent.runtime.fold import STEPS, folds
from graph_agent.runtime.journal import Run
from graph_agent.runtime.reading import FILE, read_run
from graph_agent.runtime.resume import resume
from tests.property.test_run_against_naive import FUSE, Case, Model, State, built, cases, start

CTX = Context(llm=Model())
# A run that an error stopped tries again when it is resumed, and so is another run: these go where the table says.
settled = cases.map(lambda case: replace(case, on_error=True, on_limit=True))


def told(folder: Path) -> list[Any]:
    """The trace of a run: what each step was, without times."""
    names = ("type", "stage", "to", "reason", "step", "spent", "turns", "patch", "attempts", "model_calls", "stopped")
    return [{name: one[name] for name in names if name in one} for one in read_run(folder)[0] if one["type"] in STEPS]


def ran(folder: Path, case: Case, states: list[Any] | None = None) -> State:
    """A whole run that is kept; the states after each step are added to `states`."""
    with Run.create(folder, built(case), start(case), durability="flush") as run:
        return on(run, states)


def on(run: Run[State], states: list[Any] | None = None) -> State:
    def tell(event: Any) -> None:
        if states is not None:
            states.append(event.state)

    left = FUSE - run.state.steps
    try:
        return resume(run, CTX, on_event=tell, max_steps=left)
    except RunError as error:
        return error.state  # type: ignore[no-any-return]


@settings(max_examples=120, deadline=None)
@given(cases)
def test_the_fold_is_the_state_of_the_run_at_each_step(case):
    with tempfile.TemporaryDirectory() as place:
        folder, states = Path(place) / "run", []
        final = ran(folder, case, states)
        records, _, _ = read_run(folder)
        seen = [dict(one.raw) | {"log": list(one.raw["log"])} for one in folds(records, "run")]
        steps = [raw for raw, record in zip(seen, records, strict=True) if record["type"] in STEPS]
        assert steps == [encode(state) for state in states]
        with Run.open(folder, built(case)) as run:
            assert run.state == final


@settings(max_examples=40, deadline=None)
@given(settled)
def test_a_run_cut_after_any_record_goes_on_as_if_it_had_not_been(case):
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        final = ran(whole, case)
        lines = (whole / FILE).read_bytes().splitlines(keepends=True)
        for cut in range(1, len(lines) + 1):
            folder = Path(place) / f"cut{cut}"
            folder.mkdir()
            (folder / FILE).write_bytes(b"".join(lines[:cut]))
            with Run.open(folder, built(case), durability="flush") as run:
                assert on(run) == final
            assert told(folder) == told(whole)


@settings(max_examples=60, deadline=None)
@given(settled, st.integers(0, 9_999))
def test_a_run_cut_within_a_record_goes_on_as_if_it_had_not_been(case, place_of_the_cut):
    with tempfile.TemporaryDirectory() as place:
        whole, folder = Path(place) / "whole", Path(place) / "cut"
        final = ran(whole, case)
        raw = (whole / FILE).read_bytes()
        header = raw.index(b"\n") + 1
        cut = header + place_of_the_cut * (len(raw) - header) // 10_000
        folder.mkdir()
        (folder / FILE).write_bytes(raw[:cut])
        with Run.open(folder, built(case), durability="flush") as run:
            assert bool(run.notes) == (raw[cut - 1 : cut] != b"\n"), "what was dropped is said"
            assert on(run) == final
        assert told(folder) == told(whole)


@settings(max_examples=60, deadline=None)
@given(settled, st.integers(0, FUSE))
def test_a_kept_run_that_is_stopped_and_opened_anew_is_the_run(case, cut):
    with tempfile.TemporaryDirectory() as place:
        whole, folder = Path(place) / "whole", Path(place) / "halves"
        final = ran(whole, case)
        with Run.create(folder, built(case), start(case), durability="flush") as run:
            with suppress(RunError):
                resume(run, CTX, max_steps=cut)
        with Run.open(folder, built(case), durability="flush") as run:
            assert on(run) == final
