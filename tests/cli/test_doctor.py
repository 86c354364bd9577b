"""`doctor`: each line is what was tried, and says what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from graph_agent.llm.chat import ChatLLM
from graph_agent.llm.record import RecordingLLM
from graph_agent.protocols import Request
from tests.cli.running import Ended, cli, variables
from tests.llm.chat_server import Act, Server, answer, refuses, says, serve, silence, success

SEVEN = '{"colour": "blue", "number": 7}'


def doctor(*words: str, home: Path, **env: str) -> Ended:
    return cli("doctor", *words, home=home, env={**variables(home), **env})


def asked(server: Server, home: Path, *words: str, **env: str) -> Ended:
    return doctor("--model", server.url, "--model-name", "tiny", *words, home=home, **env)


def listing(*names: str) -> Act:
    return success({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


def test_what_is_there_is_ok_and_offline_needs_no_model(tmp_path: Path) -> None:
    done = doctor(home=tmp_path)
    assert done.code == 0
    for what in ("Python: 3.", "runs: ", "git: ", "bubblewrap: ", "pytest: ", "model: offline"):
        assert f" {what}" in done.out
    assert all(line.startswith(("ok ", "missing ", "failed ", "         ")) for line in done.out.splitlines())


def test_what_was_tried_is_one_object_with_json(tmp_path: Path) -> None:
    data = doctor("--json", home=tmp_path).data
    assert data["ok"] is True
    assert [one["what"] for one in data["findings"]] == ["Python", "runs", "git", "bubblewrap", "pytest", "model"]
    assert all(one["state"] == "ok" or one["do"] for one in data["findings"])


def test_what_is_not_on_the_path_is_missing_and_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = doctor(home=tmp_path, PATH=str(tmp_path / "empty"))
    assert done.code == 0 and "missing  git: it is not on the PATH\n         nothing here needs it" in done.out


@pytest.mark.skipif(sys.platform == "win32", reason="a script with a shebang")
def test_a_git_that_is_there_and_does_not_start_has_failed(tmp_path: Path) -> None:
    git = tmp_path / "programs" / "git"
    git.parent.mkdir()
    git.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    git.chmod(0o755)
    done = doctor(home=tmp_path, PATH=str(git.parent))
    assert done.code == 0 and f"failed   git: {git}: " in done.out and "install it anew" in done.out


def test_the_folder_of_runs_is_written_to_and_left_as_it_was(tmp_path: Path) -> None:
    runs = tmp_path / "not" / "yet" / "there"
    done = doctor("--run-dir", str(runs), home=tmp_path)
    assert f"ok       runs: {runs} can be written and locked" in done.out
    assert not (tmp_path / "not").exists()
    runs.mkdir(parents=True)
    (runs / "mine").write_text("x", encoding="utf-8")
    assert doctor("--run-dir", str(runs), home=tmp_path).code == 0
    assert [path.name for path in runs.iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_written_fails_and_says_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    done = doctor("--run-dir", str(tmp_path / "file" / "runs"), home=tmp_path)
    assert done.code == 1
    assert "failed   runs: " in done.out and "give another folder with --run-dir" in done.out


def test_a_model_is_really_asked_for_a_word_and_for_json(tmp_path: Path) -> None:
    with serve(says("ready"), listing("other", "tiny"), says(SEVEN)) as server:
        done = asked(server, tmp_path)
    assert done.code == 0
    assert "answers: 'ready'" in done.out and "known: the server lists it, among 2" in done.out
    assert "JSON: it keeps to a schema: colour 'blue', number 7 (response_format json_schema)" in done.out
    assert [one.line.split()[0] for one in server.asked] == ["POST", "GET", "POST"]
    assert server.asked[1].line.split()[1] == "/v1/models"
    assert server.asked[2].body["response_format"]["type"] == "json_schema"


def test_a_server_that_answers_to_any_name_is_told_by_its_list(tmp_path: Path) -> None:
    with serve(says("ready"), listing("tinny", "other"), says(SEVEN)) as server:
        done = asked(server, tmp_path)
    assert done.code == 0
    assert "missing  known: the server answers, and does not list 'tiny'" in done.out
    assert "did you mean 'tinny'" in done.out and "it lists tinny, other" in done.out


@pytest.mark.parametrize("listed", [answer(404, "no"), success({"data": 3}), answer(200, "<html>")])
def test_a_server_without_a_list_of_models_is_fine(listed: Act, tmp_path: Path) -> None:
    with serve(says("ready"), listed, says(SEVEN)) as server:
        done = asked(server, tmp_path)
    assert done.code == 0 and "ok       known: the server has no list of models" in done.out


def test_a_server_without_json_mode_is_told_so(tmp_path: Path) -> None:
    no = refuses("response_format is not supported")
    with serve(says("ready"), listing("tiny"), no, no, says(f"```json\n{SEVEN}\n```")) as server:
        done = asked(server, tmp_path)
    assert done.code == 0
    (line,) = [line for line in done.out.splitlines() if " JSON: " in line]
    assert line.endswith("json_object is not taken here: prompt now)")


def test_a_model_that_can_not_write_json_is_told_apart(tmp_path: Path) -> None:
    with serve(says("ready"), listing("tiny"), says("The sky is blue."), says("Seven days.")) as server:
        done = asked(server, tmp_path)
    assert done.code == 1
    assert "ok       model: " in done.out and "failed   JSON: " in done.out and "use a larger model" in done.out


def test_a_model_that_thinks_past_its_room_is_told_so(tmp_path: Path) -> None:
    with serve(says("ready"), listing("tiny"), says("{", finish="length")) as server:
        done = asked(server, tmp_path)
    assert done.code == 1 and "it needs more than 2000 tokens" in done.out


@pytest.mark.parametrize(
    ("acted", "way"),
    [
        (refuses("no key", status=401), "put the key into GRAPH_AGENT_LLM_KEY"),
        (refuses("slow down", status=429), "wait, or ask your provider"),
        (answer(200, "<html>hello</html>"), "no OpenAI-compatible server: mend the URL"),
        (answer(302, "", {"Location": "https://example.org/v1"}), "give the URL that it points to"),
        (says(""), "the model answered nothing"),
    ],
)
def test_each_failure_says_what_to_do(acted: Act, way: str, tmp_path: Path) -> None:
    with serve(acted) as server:
        done = asked(server, tmp_path)
    assert done.code == 1 and "failed   model: tiny at http://127.0.0.1" in done.out
    assert way in done.out


@pytest.mark.parametrize(
    "wrong",
    [
        refuses("model 'tiny' not found", status=404),
        refuses("The model `tiny` does not exist", status=400),
        refuses("invalid value", status=422, param="model"),
    ],
)
def test_a_wrong_model_is_told_with_those_that_the_server_lists(wrong: Act, tmp_path: Path) -> None:
    with serve(wrong, listing("tiny-2", "large")) as server:
        done = asked(server, tmp_path)
    assert done.code == 1 and "mend --model-name" in done.out and "the server lists tiny-2, large" in done.out


def test_a_path_that_is_wrong_is_told_where_no_list_is_either(tmp_path: Path) -> None:
    with serve(answer(404, "no"), answer(404, "no")) as server:
        done = asked(server, tmp_path)
    assert done.code == 1 and "mend --model-name, or the path of the URL" in done.out


def test_a_server_that_is_silent_is_given_up_after_the_timeout(tmp_path: Path) -> None:
    with serve(silence) as server:
        done = asked(server, tmp_path, "--timeout", "0.5")
    assert done.code == 1 and "failed   model: " in done.out and "Raise --timeout" in done.out


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with serve() as server:
        url = server.url
    done = doctor("--model", url, "--model-name", "tiny", "--json", home=tmp_path)
    (model,) = [one for one in done.data["findings"] if one["what"] == "model"]
    assert done.code == 1 and done.data["ok"] is False
    assert model["state"] == "failed" and model["do"].startswith("start the server")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "http://127.0.0.1:9/v1"), "--model-name"),
        (("--model", "http://127.0.0.1:9/v1#x", "--model-name", "t"), "of no use"),
        (("--model", "replay:no-such-file"), "no-such-file"),
        (("--model", "ofline"), "did you mean 'offline'"),
        (("--timeout", "0"), "more than 0"),
        (("--record", "f"), "does not know '--record'"),
    ],
)
def test_an_option_of_no_use_is_said_before_anything_is_tried(words: Any, said: str, tmp_path: Path) -> None:
    done = doctor(*words, home=tmp_path)
    assert done.code == 2 and said in done.err and done.out == ""


def test_a_recording_is_read(tmp_path: Path) -> None:
    made = tmp_path / "made.jsonl"
    with serve(says("ready")) as server:
        RecordingLLM(ChatLLM(server.url, "tiny"), made).complete(Request(instructions="Say ready"))
    done = doctor("--model", f"replay:{made}", home=tmp_path)
    assert done.code == 0 and f"ok       model: replay:{made} can be read" in done.out


def test_no_key_is_printed_whoever_says_it(tmp_path: Path) -> None:
    key = "sk-verysecret123"
    with serve(refuses(f"bad key {key}", status=401)) as server:
        refused = asked(server, tmp_path, GRAPH_AGENT_LLM_KEY=key)
    with serve(says(f"your key is {key}"), listing(key, "b"), says(json.dumps({"colour": key, "number": 7}))) as server:
        told = asked(server, tmp_path, GRAPH_AGENT_LLM_KEY=key)
    assert "is refused: put the right one there" in refused.out
    assert all(one.headers["authorization"] == f"Bearer {key}" for one in server.asked)
    assert told.code == 0 and "verysecret" not in refused.out + refused.err + told.out + told.err
