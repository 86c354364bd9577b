"""Does a stored run fit the code of today? What fits goes on; what does not is refused, its bytes as they were."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from graph_agent import (
    Graph,
    GraphState,
    Node,
    Pause,
    Run,
    RunMisfit,
    appended,
    compact,
    fork,
    migration,
    read_run,
    resume,
)
from tests.runtime.kept import bytes_of, interrupted, with_changes
from tests.runtime.kept import graph as effectful


class Then(StrEnum):
    FIRST = "first"
    WAIT = "wait"
    LAST = "last"
    END = "end"


class Renamed(StrEnum):
    FIRST = "first"
    WAITING = "waiting"
    LAST = "last"
    END = "end"


class More(StrEnum):
    FIRST = "first"
    EXTRA = "extra"
    WAIT = "wait"
    LAST = "last"
    END = "end"


@dataclass(frozen=True)
class Part:
    name: str


@dataclass(frozen=True)
class Longer:
    name: str
    size: int


@dataclass(frozen=True)
class Wider:
    name: str
    size: int = 0


def state(stages: Any, fields: dict[str, Any], name: str = "Kept") -> Any:
    """The class of a state with these fields."""
    listed = [("stage", stages, stages.FIRST), *((field, tp, default) for field, (tp, default) in fields.items())]
    return make_dataclass(name, listed, bases=(GraphState,), frozen=True, kw_only=True)


FIELDS: dict[str, Any] = {"a": (int, 0), "log": (tuple[str, ...], appended()), "part": (Part | None, None)}


def table(stages: Any = Then, fields: dict[str, Any] | None = None, wait: Any = None, **rest: Any) -> Graph[Any]:
    cls = state(stages, FIELDS if fields is None else fields)
    names = [stage for stage in stages if stage.name != "END"]
    following = dict(zip(names, [*names[1:], stages.END], strict=True))
    nodes: dict[Any, Any] = {stage: Node(lambda s, c: None, owns=set(), to=following[stage]) for stage in names}
    waits = next(stage for stage in names if stage.name.startswith("WAIT"))
    nodes[waits] = wait or Pause(owns=set(), to=following[waits])
    nodes[stages.FIRST] = Node(lambda s, c: None, owns=set(), to=following[stages.FIRST])
    return Graph(state=cls, nodes=nodes, ends={stages.END}, **rest)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that waits."""
    graph = table()
    with Run.create(tmp_path / "run", graph, graph.state(task_id="run", part=Part("p"), log=("x",))) as run:
        assert resume(run).stage is Then.WAIT
    return tmp_path / "run"


def opened(folder: Path, graph: Graph[Any]) -> Any:
    with Run.open(folder, graph) as run:
        return run.state, run.notes


def without(name: str) -> dict[str, Any]:
    return {field: of for field, of in FIELDS.items() if field != name}


@pytest.mark.parametrize(
    "graph",
    [
        table(),
        table(fields=FIELDS | {"extra": (int, 7)}),
        table(More),
        table(fields=dict(reversed(FIELDS.items()))),
    ],
    ids=["the same", "a field with a default", "a stage more", "another order"],
)
def test_what_fits_goes_on_and_nothing_is_written(folder: Path, graph: Graph[Any]) -> None:
    before = bytes_of(folder)
    found, notes = opened(folder, graph)
    assert (found.stage.value, found.log, notes) == ("wait", ("x",), ())
    assert getattr(found, "extra", 7) == 7
    assert bytes_of(folder) == before


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (table(fields=without("a")), "the field a is gone from Kept"),
        (table(fields=without("a") | {"aa": (int, 0)}), "the field a is gone from Kept, did you mean 'aa'?"),
        (table(fields=FIELDS | {"a": (str, "")}), "the field a was int and is str"),
        (table(fields=FIELDS | {"part": (Longer | None, None)}), "the field part was Part | None and is Longer | None"),
        (table(Renamed), "the run stands at the stage 'wait', which is gone, did you mean 'waiting'?"),
        (
            table(wait=Node(lambda s, c: None, owns=set(), to=Then.LAST)),
            "the stage 'wait', at which the run stands, was a pause and is a node",
        ),
    ],
    ids=["gone", "renamed", "another type", "another class", "stage", "kind of stage"],
)
def test_what_does_not_fit_is_refused_with_the_difference_and_the_way_out(
    folder: Path, graph: Graph[Any], said: str
) -> None:
    before = bytes_of(folder)
    with pytest.raises(RunMisfit) as error:
        Run.open(folder, graph)
    assert error.value.differences == (said,)
    assert "The way out: raise the graph's schema_version and give it a migration" in str(error.value)
    assert bytes_of(folder) == before


def test_all_differences_are_told_at_once(folder: Path) -> None:
    with pytest.raises(RunMisfit) as error:
        Run.open(folder, table(Renamed, fields={"a": (str, "")}))
    assert len(error.value.differences) == 4


def test_a_nested_field_that_is_new_and_needed_is_found_when_the_state_is_read(folder: Path) -> None:
    """The name of the class is the same: only the value tells."""
    other = make_dataclass("Part", [("name", str), ("size", int)], frozen=True)
    other.__module__ = __name__
    with pytest.raises(RunMisfit, match=r"state\.part\.size: missing"):
        Run.open(folder, table(fields=FIELDS | {"part": (other | None, None)}))


@migration("schema", 1, 2)
def to_2(raw: dict[str, Any]) -> dict[str, Any]:
    raw["count"] = raw.pop("a") + 10
    return raw


@migration("schema", 2, 3)
def to_3(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "count": str(raw["count"])}


@migration("workflow", 1, 2)
def waiting(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "stage": "waiting"}


THIRD = without("a") | {"count": (str, "")}


def third(**rest: Any) -> Graph[Any]:
    return table(fields=THIRD, schema_version=3, migrations=(to_3, to_2), **rest)


def test_migrations_run_in_their_order_and_are_recorded(folder: Path) -> None:
    before = read_run(folder)[0]
    found, notes = opened(folder, third())
    assert (found.count, found.log) == ("10", ("x",))
    assert notes == ("migrated: schema 1 -> 2", "migrated: schema 2 -> 3")
    records = read_run(folder)[0]
    assert records[: len(before)] == before, "what was written stays"
    assert [one["type"] for one in records[len(before) :]] == ["migrated"]
    assert opened(folder, third())[1] == (), "once"
    with Run.open(folder, third()) as run:
        run.answer({})
        assert resume(run).stage.value == "end"
    with pytest.raises(RunMisfit, match="schema_version 3 of the run run is newer than the 1 of this code"):
        Run.open(folder, table())


def test_the_workflow_has_a_version_of_its_own(folder: Path) -> None:
    graph = table(Renamed, workflow_version=2, migrations=(waiting,))
    found, notes = opened(folder, graph)
    assert (found.stage, notes) == (Renamed.WAITING, ("migrated: workflow 1 -> 2",))


def test_both_versions_at_once_are_one_record(folder: Path) -> None:
    graph = table(Renamed, THIRD, schema_version=3, workflow_version=2, migrations=(waiting, to_3, to_2))
    found, notes = opened(folder, graph)
    assert (found.stage, found.count) == (Renamed.WAITING, "10")
    assert notes == tuple(f"migrated: {step}" for step in ("schema 1 -> 2", "schema 2 -> 3", "workflow 1 -> 2"))
    assert [one["type"] for one in read_run(folder)[0]].count("migrated") == 1
    with Run.open(folder, graph) as run:
        assert run.notes == ()
        run.answer({}, pause_id="run:1")
        assert resume(run).stage is Renamed.END


def test_a_migrated_run_is_compacted_and_forked_as_what_it_is_now(folder: Path) -> None:
    opened(folder, third())
    child = fork(folder, at=len(read_run(folder)[0]) - 1, new_id="child")
    early = fork(folder, at=1, new_id="early")
    compact(folder, keep=0)
    for of in (folder, child, early):
        found, notes = opened(of, third())
        assert (found.count, found.log) == ("10", ("x",))
        assert bool(notes) == (of == early), "what was forked before the migration is migrated on its own"
        with Run.open(of, third()) as run:
            run.answer({})
            assert resume(run).stage is Then.END
    compact(folder, keep=0)
    header = read_run(folder)[0][0]
    assert (header["schema_version"], header["state"]["count"]) == (3, "10")
    assert opened(folder, third())[1] == ()


def test_an_effect_in_flight_is_still_in_flight_after_a_migration(tmp_path: Path) -> None:
    plain = interrupted(tmp_path)

    @migration("schema", 1, 2)
    def more(raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "need": 3}

    migrated = with_changes(effectful(tmp_path), schema_version=2, migrations=(more,))
    for _ in range(2):
        with Run.open(plain, migrated) as run:
            assert run.in_flight is not None
            assert run.in_flight["key"] == "run:work:1"
    with Run.open(plain, migrated) as run:
        assert (resume(run).stage.value, run.state.need) == ("human", 3)


def test_a_version_without_its_migration_is_refused_with_what_to_write(folder: Path) -> None:
    before = bytes_of(folder)
    graph = table(fields=THIRD, schema_version=3, migrations=(to_3,))
    with pytest.raises(
        RunMisfit, match=r"there is no migration of the schema from version 1 .*@migration\('schema', 1, 2\)"
    ):
        Run.open(folder, graph)
    assert bytes_of(folder) == before


@migration("schema", 1, 2)
def raises(raw: dict[str, Any]) -> dict[str, Any]:
    raw["log"].append("half done")
    raise KeyError("b")


@migration("schema", 1, 2)
def returns_none(raw: dict[str, Any]) -> Any:
    raw["a"] = 2


@migration("schema", 1, 2)
def makes_nonsense(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "a": "text"}


@migration("schema", 1, 2)
def loses_its_place(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name not in ("stage", "steps")}


@migration("schema", 1, 2)
def counts_anew(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "steps": 0, "task_id": "other"}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (loses_its_place, "from 1 to 2 dropped stage, steps: return these fields too, they say where the run stands"),
        (counts_anew, "from 1 to 2 changed task_id, steps: leave what the runtime counts as it is"),
        (raises, "the migration of the schema from 1 to 2 failed: KeyError('b')"),
        (returns_none, "the migration of the schema from 1 to 2 returned no dict"),
        (makes_nonsense, "state.a: expected int, got 'text' (str)"),
    ],
    ids=["loses its place", "counts anew", "raises", "returns nothing", "does not fit"],
)
def test_a_migration_that_fails_leaves_the_run_as_it_was(folder: Path, step: Any, said: str) -> None:
    before = bytes_of(folder)
    with pytest.raises(RunMisfit) as error:
        Run.open(folder, table(schema_version=2, migrations=(step,)))
    assert said in str(error.value)
    assert bytes_of(folder) == before
    assert opened(folder, table())[0].log == ("x",)


def test_code_that_changed_and_nothing_else_is_no_difference(folder: Path) -> None:
    """Versions are declared, so an edit of a node's source strands nobody."""
    graph = table()
    edited = table(wait=Pause(owns=set(), to=Then.LAST, check=lambda s: None))
    with Run.open(folder, edited) as run:
        run.answer({})
        assert resume(run).stage is Then.END
    assert graph.schema_version == edited.schema_version == 1
