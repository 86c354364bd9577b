"""Runs that are kept, for the tests of the journal: a graph whose WORK has an effect, noted in an outbox by its key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_agent import Context, Graph, Run
from graph_agent.runtime.reading import FILE
from tests.runtime.counting import Count, Stage, counting, start


def outbox(folder: Path, *, dies: bool = False) -> Any:
    """A WORK that appends its key to a file; with `dies` the process ends before anything is recorded."""

    def work(state: Count, ctx: Context) -> dict[str, Any]:
        with (folder / "outbox").open("a", encoding="utf-8") as file:
            file.write(f"{ctx.key}\n")
        if dies:
            raise Died
        return {"count": state.count + 1, "log": (f"visit {state.count + 1}",)}

    return work


class Died(BaseException):
    """The process ends here, as far as its journal can tell."""


def sent(folder: Path) -> list[str]:
    path = folder / "outbox"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def graph(folder: Path, *, dies: bool = False, doubt: bool = True, error: bool = False, **node: Any) -> Graph[Count]:
    plain = counting(outbox(folder, dies=dies), on_error=Stage.HUMAN if error else None, effects=True, **node)
    return with_changes(plain, on_doubt=Stage.HUMAN if doubt else None)


def with_changes(plain: Graph[Any], **changes: Any) -> Graph[Any]:
    names = ("state", "nodes", "ends", "shared", "on_limit", "on_error", "on_doubt", "look")
    more = ("schema_version", "workflow_version", "migrations")
    return Graph(**{name: getattr(plain, name) for name in (*names, *more)} | changes)


def interrupted(folder: Path, **node: Any) -> Path:
    """A run whose first WORK did its effect and died."""
    with Run.create(folder / "run", graph(folder, dies=True, **node), start(task_id="run")) as run:
        try:
            run_on(run)
        except Died:
            pass
        else:
            raise AssertionError("it did not die")
    return folder / "run"


def run_on(run: Run[Any], **rest: Any) -> Any:
    from graph_agent import run_graph

    return run_graph(run.graph, run.state, journal=run, **rest)


def whole(folder: Path, **fields: Any) -> Path:
    """A run without effects, from begin to end."""
    with Run.create(folder / "run", counting(), start(task_id="run", **fields)) as run:
        run_on(run)
    return folder / "run"


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def lines_of(folder: Path) -> list[bytes]:
    return (folder / FILE).read_bytes().splitlines(keepends=True)
