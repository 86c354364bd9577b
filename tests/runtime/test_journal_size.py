"""The size of a step's record: what the step changed decides it, and not how long the run is. Bytes, no clock."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import Run, run_graph
from graph_agent.runtime.reading import FILE
from tests.runtime.counting import Count, counting, start
from tests.runtime.kept import lines_of

_NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")
_SUM = re.compile(rb',"crc":"[0-9a-f]{8}"')


def kept(folder: Path, run: Any = None, **fields: Any) -> list[bytes]:
    """The lines of a run's steps."""
    graph = counting(run) if run else counting()
    state = start(task_id="run", **fields)
    with Run.create(folder / "run", graph, state, durability="flush") as journal:
        run_graph(graph, state, journal=journal, max_steps=20_000)
    return lines_of(folder / "run")[1:]


def wordy(state: Count, ctx: Any) -> dict[str, Any]:
    """Adds as much with each visit."""
    return {"count": state.count + 1, "log": ("x" * 500,)}


def without_numbers(line: bytes) -> bytes:
    """Numbers grow in digits, and a checksum is as good as random."""
    return _NUMBER.sub(b"0", _SUM.sub(b"", line))


@given(
    before=st.lists(st.text(st.characters(codec="utf-8"), max_size=200), max_size=60),
    steps=st.integers(0, 10**6),
)
def test_a_record_holds_nothing_of_what_was_before_the_step(before, steps):
    with TemporaryDirectory() as empty, TemporaryDirectory() as full:
        first = kept(Path(empty), need=1)
        later = kept(Path(full), need=1, log=tuple(before), steps=steps)
    assert list(map(without_numbers, later)) == list(map(without_numbers, first))


def test_every_step_of_a_long_run_takes_the_bytes_of_the_first(tmp_path):
    lines = kept(tmp_path, wordy, need=400)
    assert len(lines) == 800
    works, checks = set(map(without_numbers, lines[::2])), set(map(without_numbers, lines[1:-1:2]))
    assert (len(works), len(checks)) == (1, 1)


@pytest.mark.parametrize("steps", [1_000, 10_000])
def test_bytes_a_step_stay_the_same_within_five_percent(tmp_path, steps):
    (tmp_path / "short").mkdir()
    (tmp_path / "long").mkdir()
    kept(tmp_path / "short", need=50)
    kept(tmp_path / "long", need=steps // 2)
    short, long = ((tmp_path / name / "run" / FILE).stat().st_size for name in ("short", "long"))
    assert long / steps == pytest.approx(short / 100, rel=0.05)


def test_a_resumed_run_goes_on_at_the_same_price(tmp_path):
    whole = kept(tmp_path, wordy, need=40)
    folder = tmp_path / "run"
    path = folder / FILE
    header = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(header + b"".join(whole[:60]))
    graph = counting(wordy)
    with Run.open(folder, graph, durability="flush") as run:
        run_graph(graph, run.state, journal=run)
    assert list(map(without_numbers, lines_of(folder)[1:])) == list(map(without_numbers, whole))
