"""A whole repair by a model behind a server: asked, corrected, recorded, played back, and its key in no place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph_agent.cli.models import key_for
from tests.cli.running import TESTS, WRONG, Ended, repair, variables, workspace
from tests.llm.chat_server import Wire, answer, says, serve

KEY = "zz-CANARY-1234567890"
FENCE = "The sign is wrong.\n\n```python\n{}\n```\n"
INVALID = "I would look at the sign."
FAILS = FENCE.format("def add(a, b):\n    return a * b")
MENDS = FENCE.format("def add(a, b):\n    return a + b")


@dataclass(frozen=True)
class Told:
    ended: Ended
    bodies: list[str]
    record: Path
    home: Path


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One run: the first answer is invalid, the next is wrong, the third is right."""
    home = tmp_path_factory.mktemp("home")
    workspace(home / "ws")
    with serve(says(INVALID), says(FAILS), says(MENDS)) as server:
        words = ["--model", server.url, "--model-name", "small", "--edit-format", "function"]
        words += ["--record", str(home / "record.jsonl")]
        ended = repair("ws", *words, home=home, env=variables(home, GRAPH_AGENT_LLM_KEY=KEY))
        return Told(ended, [json.dumps(body) for body in server.bodies], home / "record.jsonl", home)


def test_an_invalid_answer_is_corrected_a_wrong_one_repaired(told: Told) -> None:
    assert (told.ended.code, told.ended.err) == (0, "")
    assert "retry 1 of 2" in told.ended.out
    assert "V2 passed" in told.ended.out
    assert "+    return a + b" in told.ended.out
    assert len(told.bodies) == 3


def test_the_model_is_shown_its_invalid_answer_and_then_the_failed_verification(told: Told) -> None:
    first, second, third = told.bodies
    assert INVALID not in first
    assert INVALID in second
    assert "a * b" in third
    assert "V1" in third


def test_a_recording_gives_the_same_patch_without_the_server(told: Told) -> None:
    again = repair("ws", "--model", f"replay:{told.record}", "--edit-format", "function", home=told.home)
    assert again.code == 0
    patches = [(ended.folder / "patch.diff").read_bytes() for ended in (told.ended, again)]
    assert patches[0] == patches[1]
    steps = [ended.out.split("\n\n")[0] for ended in (told.ended, again)]
    assert steps[0] == steps[1]


def test_a_recording_of_another_question_is_said_to_have_no_answer(told: Told) -> None:
    ended = repair("ws", "--model", f"replay:{told.record}", "--request", "Another thing.", home=told.home)
    assert ended.code == 3
    assert "has no reply to this request" in ended.err
    assert f"--model replay:{told.record}" in ended.last_command


def test_the_key_is_sent_and_stands_in_no_file_and_no_output(told: Told) -> None:
    written = [path for path in told.home.rglob("*") if path.is_file()]
    assert told.record in written
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in told.ended.out + told.ended.err + "".join(told.bodies)


def echo(wire: Wire) -> None:
    """An error that shows the caller all that it sent."""
    answer(401, json.dumps({"error": {"message": f"not with {wire.asked.headers}"}}))(wire)


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_a_server_that_echoes_the_key_in_an_error_does_not_get_it_into_the_run(
    tmp_path: Path, words: list[str]
) -> None:
    told = TESTS + "\n    def test_the_environment(self):\n        import os\n\n        self.fail(str(os.environ))\n"
    workspace(tmp_path / "ws", {"calc.py": WRONG, "tests/__init__.py": "", "tests/test_calc.py": told})
    with serve(echo) as server:
        env = variables(tmp_path, GRAPH_AGENT_LLM_KEY=KEY, OPENAI_API_KEY=f"{KEY}-2", GRAPH_AGENT_LLM_MODEL="small")
        ended = repair("ws", "--model", server.url, *words, home=tmp_path, env=env)
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert ended.code == 3
    assert "401" in ended.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"environ({" in path.read_bytes() for path in files)  # the test command did print what it has
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in ended.out + ended.err


@pytest.mark.parametrize(
    "url, sent",
    [
        ("https://api.openai.com/v1", "theirs"),
        ("https://eu.api.OpenAI.com", "theirs"),
        ("http://api.openai.com/v1", None),
        ("https://openai.com.example.org/v1", None),
        ("https://notopenai.com/v1", None),
        ("http://127.0.0.1:11434/v1", None),
    ],
)
def test_the_key_of_openai_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch, url: str, sent: str | None) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.delenv("GRAPH_AGENT_LLM_KEY", raising=False)
    assert key_for(url) == sent
    monkeypatch.setenv("GRAPH_AGENT_LLM_KEY", "ours")
    assert key_for(url) == "ours"


def test_a_key_in_the_url_is_refused_and_not_shown(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    url = f"http://user:{KEY}@127.0.0.1:9/v1"
    ended = repair("ws", "--model", url, "--model-name", "small", home=tmp_path)
    assert ended.code == 2
    assert KEY not in ended.out + ended.err


def test_a_reviewer_that_objects_stops_the_run(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    (tmp_path / "rules.md").write_text("Every function has a docstring.", encoding="utf-8")
    objection = json.dumps({"blockers": ["add has no docstring"], "comments": []})
    with serve(says(MENDS), says(objection)) as server:
        words = ["--model", server.url, "--model-name", "small", "--review", "--rules", "rules.md"]
        ended = repair("ws", *words, home=tmp_path)
        assert "Every function has a docstring." in json.dumps(server.bodies[1])
    assert ended.code == 3
    assert "add has no docstring" in ended.err


def test_an_answer_can_t_move_the_cursor_of_the_terminal(tmp_path: Path) -> None:
    workspace(tmp_path / "ws")
    with serve(says("\x1b[2J\x1b]0;mine\x07\nThe sign.\n" + MENDS)) as server:
        ended = repair("ws", "--model", server.url, "--model-name", "small", home=tmp_path)
    assert ended.code == 0
    assert "\x1b" not in ended.out + ended.err
    assert [line.split(" | ")[0].strip() for line in ended.out.split("\n\n")[0].splitlines()] == list("12345")
