"""The effect happened and its record is missing: the policy of the node decides, again with the same key, or ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graph_agent import InDoubt, Run, resume
from tests.traps.durable import Stage, graph_that, outbox, start


class Gone(BaseException):
    """The process ends between the effect and its record."""


def stopped(folder: Path, **node: Any) -> None:
    def sends_and_dies(state: Any, ctx: Any) -> Any:
        outbox(folder, ctx.key)
        raise Gone

    with Run.create(folder / "run", graph_that(sends_and_dies, **node), start()) as run, pytest.raises(Gone):
        resume(run)


def on(folder: Path, doubt: bool = True, **node: Any) -> Any:
    def sends(state: Any, ctx: Any) -> Any:
        outbox(folder, ctx.key)
        return {"sent": True}

    with Run.open(folder / "run", graph_that(sends, doubt=doubt, **node)) as run:
        return resume(run)


def sent(folder: Path) -> list[str]:
    return (folder / "outbox").read_text(encoding="utf-8").splitlines()


def test_retry_sends_again_with_the_same_key_so_that_who_gets_it_can_tell(tmp_path: Path) -> None:
    stopped(tmp_path, on_interrupted="retry")
    assert on(tmp_path, on_interrupted="retry").stage is Stage.DONE
    assert sent(tmp_path) == ["job:send:1", "job:send:1"]


def test_ask_sends_nothing_and_goes_to_a_person(tmp_path: Path) -> None:
    stopped(tmp_path)
    assert on(tmp_path).stage is Stage.HUMAN
    assert sent(tmp_path) == ["job:send:1"]


def test_ask_without_anybody_to_ask_is_refused_with_the_facts(tmp_path: Path) -> None:
    stopped(tmp_path, doubt=False)
    with pytest.raises(InDoubt, match=r"send was interrupted \(key job:send:1\)"):
        on(tmp_path, doubt=False)
    assert sent(tmp_path) == ["job:send:1"]
