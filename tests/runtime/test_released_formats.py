"""Files of every format that was ever released are read as what they were, and their bytes never change."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from graph_agent import CheckpointError, JournalError, Run, encode, load_checkpoint, read_run
from graph_agent.cli.demo import simulated_repair
from graph_agent.runtime import checkpoint, reading
from graph_agent.runtime.blobs import Blobs
from graph_agent.runtime.forks import blobs_named
from graph_agent.runtime.records import line_of, read_records
from graph_agent.runtime.replay import replay_step
from graph_agent.workflows.repair.graph import GRAPH as REPAIR
from graph_agent.workflows.repair.state import TaskState
from tests.runtime.essay import GRAPH, Essay

FOLDER = Path(__file__).parents[2] / "fixtures" / "checkpoints"
TYPES: dict[str, Any] = {"essay": Essay, "repair": TaskState}
GRAPHS: dict[str, Any] = {"essay": GRAPH, "repair": REPAIR, "recorded": REPAIR}
FILES = sorted(path for path in FOLDER.iterdir() if path.is_file() and not path.name.endswith(".expected.json"))
RELEASED = {
    "checkpoint-1-essay.json": "23c56a90b868a141136084eb38296aa8b51468840b4c7f52a1d950253e92bc2e",
    "checkpoint-1-repair.json": "400dd57e4d7760db5728f96f4e79fb603aeb97a5ee77852e7862300735302d01",
    "journal-1-essay.jsonl": "e77cb9e1dc930e411acab95b2eeaa061dcea767fce02438d69b45484f0b9a782",
    "journal-1-recorded.jsonl": "30d9ad889bb59f1d0dad90615e7c4beac51fe786ac467e59c761d45154153bc4",
    "journal-1-repair.jsonl": "dc6604f9ccb2971b2a0c8c2efd9ade16d2b2f6b51e2fa19fd95bd9d75520a74b",
}


def expected(path: Path) -> Any:
    return json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))


def of(path: Path) -> tuple[str, int, str]:
    kind, number, name = path.stem.split("-")
    return kind, int(number), name


def stored(path: Path, place: Path) -> Path:
    """The folder of a run with that journal."""
    folder = place / of(path)[2]
    folder.mkdir()
    shutil.copy(path, folder / "journal.jsonl")
    shutil.copytree(FOLDER / "blobs", folder / "blobs")
    return folder


def test_every_format_has_its_files_and_says_what_changed() -> None:
    kinds = {of(path)[:2] for path in FILES}
    assert kinds == {("checkpoint", n) for n in checkpoint.FORMATS} | {("journal", n) for n in reading.FORMATS}
    assert all(text.strip() for text in (*checkpoint.FORMATS.values(), *reading.FORMATS.values()))


def test_a_released_file_is_never_changed() -> None:
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FILES}
    assert hashes == RELEASED, "add new files; do not make old ones again"


@pytest.mark.parametrize("path", [path for path in FILES if path.name.startswith("checkpoint")], ids=lambda p: p.name)
def test_a_released_checkpoint_is_read_as_what_it_was(path: Path) -> None:
    assert encode(load_checkpoint(path, TYPES[of(path)[2]])) == expected(path)


@pytest.mark.parametrize("path", [path for path in FILES if path.name.startswith("journal")], ids=lambda p: p.name)
def test_a_released_journal_is_read_as_what_it_was(path: Path, tmp_path: Path) -> None:
    """By the graph as it is today: whoever changes it so that this fails owes a migration."""
    folder = stored(path, tmp_path)
    with Run.open(folder, GRAPHS[of(path)[2]]) as run:
        assert encode(run.state) == expected(path) | _added(run.state, expected(path))
        for ref in blobs_named(read_records(path.read_bytes(), "run").records):
            assert run.blobs.read_bytes(ref)


def test_a_released_recording_can_be_replayed(tmp_path: Path) -> None:
    """Whether it is the same today is another question: the nodes may have changed."""
    folder = stored(FOLDER / "journal-1-recorded.jsonl", tmp_path)
    records, folded, _ = read_run(folder)
    _, ctx = simulated_repair()
    found = [
        replay_step(records, Blobs(folder / "blobs"), REPAIR, step + 1, policy=ctx.policy)
        for step in range(folded.raw["steps"])
    ]
    assert [one.stage for one in found] == [record["stage"] for record in records if record["type"] == "finished"]


def _added(state: Any, then: dict[str, Any]) -> dict[str, Any]:
    """Fields that came later have their defaults."""
    return {name: value for name, value in dict(encode(state)).items() if name not in then}


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = next(path for path in FILES if path.name.startswith("checkpoint"))
    newer = json.loads(path.read_text(encoding="utf-8")) | {"format": checkpoint.FORMAT + 1}
    (tmp_path / "newer.json").write_text(json.dumps(newer), encoding="utf-8")
    with pytest.raises(CheckpointError, match="update graph_agent"):
        load_checkpoint(tmp_path / "newer.json", Essay)
    folder = stored(next(path for path in FILES if path.name.startswith("journal-1-essay")), tmp_path)
    header, *rest = read_records((folder / "journal.jsonl").read_bytes(), "run").records
    lines = [line_of({**header, "format": reading.FORMAT + 1}), *map(line_of, rest)]
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match="update graph_agent"):
        Run.open(folder, GRAPH)


def test_no_file_has_a_path_of_the_machine_that_made_it() -> None:
    for path in (*FILES, *(FOLDER / "blobs").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert not any(place in text for place in ("/home/", "/root/", "/tmp/", "/work/", "C:\\"))
