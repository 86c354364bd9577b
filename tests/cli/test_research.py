"""`research` from the shell: answers with sources, partial answers, pauses, kept runs, and what it refuses."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.running import FIXTURES, Ended, cli
from tests.workflows.research_recorded import QUESTION, RECORDING, record

DOCUMENTS = str(FIXTURES / "documents")
WHERE = "Where is the emergency cache of food?"
NEVER = "Who composed the anthem of the station's football club?"


def research(question: str, *options: str, home: Path, docs: str = DOCUMENTS) -> Ended:
    return cli("research", question, "--docs", docs, *options, home=home)


def test_an_answer_quotes_its_documents_and_lists_its_sources(tmp_path: Path) -> None:
    done = research(WHERE, home=tmp_path)
    assert done.code == 0
    assert "> The emergency cache lies under the floor of the dome" in done.out
    assert re.search(r"Sources:\n- \[E\d+\] stores-and-water\.md:\d+-\d+\n", done.out)
    assert "\nround=1 | verify -> advance | layer=goal | score=1.00 | scope=local | rounds 1/12, " in done.out


def test_the_quote_stands_in_the_lines_that_are_named(tmp_path: Path) -> None:
    done = research(WHERE, "--json", home=tmp_path)
    answer = json.loads(done.out)["answer"]
    (source,) = answer["sources"]
    path, first, last = re.fullmatch(r"(.+):(\d+)-(\d+)", source["place"]).groups()
    lines = (FIXTURES / "documents" / path).read_text(encoding="utf-8").split("\n")[int(first) - 1 : int(last)]
    quote = re.search(rf"> (.+) \[{source['id']}\]", answer["text"])[1]
    assert quote in " ".join(" ".join(lines).split())


def test_sources_that_contradict_each_other_are_both_cited_and_it_is_said(tmp_path: Path) -> None:
    done = research("At what wind speed does the goods hoist stop?", "--quiet", home=tmp_path)
    assert done.code == 0
    assert "exceeds 14 metres" in done.out and "exceeds 18 metres" in done.out
    assert "These sources contradict each other" in done.out


def test_what_was_superseded_is_said_to_be(tmp_path: Path) -> None:
    done = research("How often is the snow stake read?", "--quiet", home=tmp_path)
    assert done.code == 0
    assert "every 3 hours" in done.out
    assert "Be careful:\n- E4 (snow-record-2015.html" in done.out


def test_a_question_without_an_answer_ends_as_partial_and_quotes_nothing(tmp_path: Path) -> None:
    done = research(NEVER, home=tmp_path)
    assert done.code == 5
    assert "Nothing of what was asked could be answered from the documents." in done.out
    assert "\n> " not in done.out
    assert "What would help: documents that answer this: " in done.out
    assert done.err.startswith("graph_agent: a partial answer: ")
    as_json = json.loads(research(NEVER, "--json", home=tmp_path).out)
    assert (as_json["status"], as_json["exit_code"], as_json["answer"]["status"]) == ("partial", 5, "partial")


def test_of_two_questions_the_one_that_can_be_answered_is(tmp_path: Path) -> None:
    done = research(f"{WHERE} {NEVER}", "--quiet", home=tmp_path)
    assert done.code == 5
    assert "> The emergency cache lies under the floor of the dome" in done.out
    assert NEVER in done.out.partition("Missing:")[2].split("\n")[1]


def test_turns_that_are_spent_end_it_with_what_stands(tmp_path: Path) -> None:
    done = research(WHERE, "--turns", "4", "--quiet", home=tmp_path)
    assert done.code == 5
    assert "turns are spent" in done.err or "turns" in done.err
    assert "What would help: more turns than 4" in done.out
    assert done.out.rstrip().split("\n")[-3].strip().endswith("--turns 8")


def test_a_recorded_run_with_a_retry_and_a_replan_is_played_back(tmp_path: Path) -> None:
    done = research(QUESTION, "--model", f"replay:{RECORDING}", home=tmp_path)
    assert done.code == 0
    assert "round=1 | verify -> execute | layer=structure | score=0.00 | scope=local" in done.out
    assert "round=2 | verify -> plan | layer=goal | score=0.00 | scope=global" in done.out
    assert re.search(
        r"plan 2: wind, stake \| both; replan 1: \w{16} -> \w{16} \(3 steps\) \| failed: it gives", done.out
    )
    assert "contradict each other [E12, E13]" in done.out


def test_the_recording_is_what_its_script_says(tmp_path: Path) -> None:
    record(tmp_path / "again.jsonl")
    again = sorted((tmp_path / "again.jsonl").read_text(encoding="utf-8").splitlines())
    stored = sorted(RECORDING.read_text(encoding="utf-8").splitlines())
    assert again == stored, "write it anew: python -m tests.workflows.research_recorded"


def test_a_plan_waits_for_approval_and_the_command_that_it_prints_goes_on(tmp_path: Path) -> None:
    first = research(WHERE, "--approve", "plan,finish", "--quiet", home=tmp_path)
    assert first.code == 3
    assert "s1 (work) [search_documents]" in first.out
    second = typed_last(first, home=tmp_path)
    assert second.code == 3 and "the complete answer waits for approval" in second.err
    third = typed_last(second, home=tmp_path)
    assert third.code == 0


def test_a_person_may_change_the_goal_and_it_is_planned_anew(tmp_path: Path) -> None:
    research(NEVER, "--approve", "plan", "--quiet", home=tmp_path)
    done = cli("answer", "last", f"goal={WHERE}", home=tmp_path)
    assert done.code == 3 and "plan 2 waits for approval" in done.err
    assert "a person wants it planned anew" in done.out
    assert typed_last(done, home=tmp_path).code == 0


def test_a_persons_note_is_evidence_that_stands_in_the_journal(tmp_path: Path) -> None:
    research(NEVER, "--approve", "plan", "--quiet", home=tmp_path)
    shown = cli("show", "last", home=tmp_path)
    approval = re.search(r"'(approval=plan [^']+)'", shown.out)[1]
    cli("answer", "last", approval, "notes=The anthem was composed by Ada Marsh.", home=tmp_path)
    history = json.loads(cli("history", "last", "--at", "3", "--field", "evidence", "--json", home=tmp_path).out)
    assert history["state"]["evidence"][0]["by"] == "person"


def test_why_tells_where_each_statement_is_from_and_how_it_was_judged(tmp_path: Path) -> None:
    research(WHERE, "--quiet", home=tmp_path)
    told = cli("why", "last", home=tmp_path)
    assert told.code == 0
    assert "brought by read_document" in told.out and "satisfied: at least 1 cited statement" in told.out
    refused = cli("why", "last", "--file", "x.py", home=tmp_path)
    assert refused.code == 2 and "only a repair changes files" in refused.err


def test_the_answer_is_kept_beside_the_run_and_the_run_is_listed(tmp_path: Path) -> None:
    done = json.loads(research(WHERE, "--json", home=tmp_path).out)
    assert "under the floor of the dome" in (Path(done["folder"]) / "answer.md").read_text(encoding="utf-8")
    assert re.search(rf"{done['run']} +research +done", cli("runs", home=tmp_path).out)
    assert cli("verify-journal", "last", home=tmp_path).code == 0


def test_a_fork_goes_on_from_an_earlier_step(tmp_path: Path) -> None:
    research(WHERE, "--quiet", home=tmp_path)
    forked = cli("fork", "last", "--at", "3", "--name", "again", home=tmp_path)
    assert forked.code == 0
    assert cli("resume", "again", "--quiet", home=tmp_path).code == 0


def test_a_document_that_changed_since_it_was_read_is_put_before_a_person(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "rules.md").write_text("# Rules\n\nA visitor may stay for 25 minutes in the dome.\n", encoding="utf-8")
    research("How long may a visitor stay?", "--quiet", home=tmp_path, docs=str(docs))
    cli("fork", "last", "--at", "3", "--name", "again", home=tmp_path)
    (docs / "rules.md").write_text("# Rules\n\nA visitor may stay for 45 minutes in the dome.\n", encoding="utf-8")
    done = cli("resume", "again", home=tmp_path)
    assert done.code == 3
    assert "not as they were when they were read: rules.md (changed)" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("", "--docs", DOCUMENTS), "the question is empty"),
        (("q", "--docs", "nowhere"), "'nowhere' is not there"),
        (("q", "--docs", __file__), "is no folder"),
        (("q", "--docs", "."), "there is no document in"),
        (("q", "--docs", DOCUMENTS, "--rounds", "-1"), "--rounds -1: give a number from 1"),
        (("q", "--docs", DOCUMENTS, "--approve", "plans"), "did you mean 'plan'"),
        (("q", "--docs", DOCUMENTS, "--model", "ofline"), "did you mean 'offline'"),
        (("q",), "--docs"),
    ],
)
def test_what_no_run_could_use_is_a_usage_error(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = cli("research", *words, home=tmp_path)
    assert done.code == 2
    assert said in done.err and "Traceback" not in done.err


def test_limits_of_the_other_workflow_are_refused(tmp_path: Path) -> None:
    research(WHERE, "--approve", "plan", "--quiet", home=tmp_path)
    done = cli("resume", "last", "--retries", "3", home=tmp_path)
    assert done.code == 2 and "a research has --rounds" in done.err


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_a_link_that_leads_out_is_left_out_and_said(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The tower is 30 metres high.\n", encoding="utf-8")
    secret = tmp_path / "secret.md"
    secret.write_text("The password is swordfish.\n", encoding="utf-8")
    (docs / "b.md").symlink_to(secret)
    done = research("What is the password?", home=tmp_path, docs=str(docs))
    assert done.code == 5 and "swordfish" not in done.out
    assert "left out: b.md is a link that leads out of the folder." in done.err


def typed_last(ended: Ended, *, home: Path) -> Ended:
    """The last line, as a person would run it."""
    return cli(*ended.next_words, "--quiet", home=home)
