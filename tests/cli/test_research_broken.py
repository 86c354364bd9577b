"""What broke a research from the shell once: documents that change, budgets at their edge, wrong ways on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tests.cli.running import Ended, cli
from tests.llm.chat_server import says, serve

NIGHT, DAY = "# Night\n\nThe night ferry has 36 cabins.\n", "# Day\n\nThe day ferry has 4 decks.\n"
QUESTION = "How many cabins has the night ferry?"


def folder_of(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "night.md").write_text(NIGHT, encoding="utf-8")
    (docs / "day.md").write_text(DAY, encoding="utf-8")
    return docs


def told(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.out)
    return found


def approved(run: str, home: Path) -> Ended:
    """The answer that it offers first, as it offers it."""
    ways = told(cli("show", run, "--json", home=home))["next"]
    (wanted,) = (one["command"] for one in ways if one["to"] == "approve the answer")
    return cli(*shlex.split(wanted)[3:], home=home)


def changed_while_it_waits(tmp_path: Path) -> str:
    """A run that waits for its answer to be approved; the document it quotes is another by then, and it was said."""
    docs = folder_of(tmp_path)
    waits = told(cli("research", QUESTION, "--docs", str(docs), "--approve", "finish", "--json", home=tmp_path))
    (docs / "night.md").write_text(NIGHT.replace("36", "37"), encoding="utf-8")
    refused = approved(waits["run"], tmp_path)
    assert refused.code == 1 and "not as they were when they were read: night.md (changed)" in refused.err
    return str(waits["run"])


def test_a_run_whose_document_changed_goes_on_when_a_person_says_so(tmp_path: Path) -> None:
    run = changed_while_it_waits(tmp_path)
    ended = approved(run, tmp_path)
    assert ended.code == 0, ended.err


def test_a_run_that_is_planned_anew_reads_the_document_that_changed(tmp_path: Path) -> None:
    run = changed_while_it_waits(tmp_path)
    pause = told(cli("show", run, "--json", home=tmp_path))["asks"]["pause"]
    decision = json.dumps({"pause": pause, "to": "plan"})
    ended = cli("answer", run, f"decisions={decision}", "--json", home=tmp_path)
    assert "37 cabins" in told(ended)["answer"]["text"]


def test_more_turns_are_offered_with_the_same_model(tmp_path: Path) -> None:
    docs = folder_of(tmp_path)
    with serve(says('{"steps": [], "unclear": "Which?"}')) as server:
        model = ("--model", server.url, "--model-name", "small")
        ended = cli("research", QUESTION, "--docs", str(docs), *model, "--turns", "0", "--json", home=tmp_path)
    (anew, _) = told(ended)["next"]
    assert anew["to"] == "begin anew with more turns"
    assert anew["command"].endswith(f"--model {server.url} --model-name small --turns 2")


def test_no_round_at_all_is_refused(tmp_path: Path) -> None:
    refused = cli("research", QUESTION, "--docs", str(folder_of(tmp_path)), "--rounds", "0", home=tmp_path)
    assert refused.code == 2 and "--rounds 0: give a number from 1 to" in refused.err
