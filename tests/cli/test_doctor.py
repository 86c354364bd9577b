"""`doctor`: each line is what was tried, and says what to do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ended, cli, variables
from tests.llm.chat_server import Server, serve


def completion(text: str) -> Any:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
    return raw(200, body)


def raw(status: int, body: bytes) -> Any:
    lines = (
        f"HTTP/1.1 {status} X",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    head = "\r\n".join((*lines, "", ""))
    return lambda wire: wire.send(head.encode() + body)


def doctor(*words: str, home: Path, **env: str) -> Ended:
    return cli("doctor", *words, home=home, env={**variables(home), **env})


def asked(server: Server, home: Path) -> Ended:
    return doctor("--model", server.url, "--model-name", "tiny", home=home)


def test_what_is_there_is_ok_and_offline_needs_no_model(tmp_path: Path) -> None:
    done = doctor(home=tmp_path)
    assert done.code == 0
    for what in ("Python: 3.", "runs: ", "git: ", "bubblewrap: ", "pytest: ", "model: offline"):
        assert f" {what}" in done.out


def test_what_is_not_on_the_path_is_missing_and_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = doctor(home=tmp_path, PATH=str(tmp_path / "empty"))
    assert done.code == 0 and "missing  git: it is not on the PATH\n         nothing here needs it" in done.out


def test_a_folder_that_cannot_be_written_fails_and_says_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    done = doctor("--run-dir", str(tmp_path / "file" / "runs"), home=tmp_path)
    assert done.code == 1
    assert "failed   runs: " in done.out and "give another folder with --run-dir" in done.out


def test_a_model_is_really_asked_for_a_word_and_for_json(tmp_path: Path) -> None:
    with serve(completion("ready"), completion('{"colour": "blue", "number": 7}')) as server:
        done = asked(server, tmp_path)
    assert done.code == 0
    assert "answers: 'ready'" in done.out and "JSON: it keeps to a schema: colour 'blue', number 7" in done.out
    assert len(server.asked) == 2


def test_a_model_that_can_not_write_json_is_told_apart(tmp_path: Path) -> None:
    with serve(completion("ready"), completion("The sky is blue."), completion("Seven days.")) as server:
        done = asked(server, tmp_path)
    assert done.code == 1
    assert "ok       model: " in done.out and "failed   JSON: " in done.out and "use a larger model" in done.out


@pytest.mark.parametrize(
    ("answer", "way"),
    [
        (raw(401, b'{"error": {"message": "no key"}}'), "put the key into GRAPH_AGENT_LLM_KEY"),
        (raw(404, b'{"error": {"message": "model tiny not found"}}'), "mend --model-name"),
        (raw(200, b"<html>hello</html>"), "no OpenAI-compatible server: mend the URL"),
    ],
)
def test_each_failure_says_what_to_do(answer: Any, way: str, tmp_path: Path) -> None:
    with serve(answer) as server:
        done = asked(server, tmp_path)
    assert done.code == 1 and "failed   model: tiny at http://127.0.0.1" in done.out
    assert way in done.out


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with serve() as server:
        url = server.url
    done = doctor("--model", url, "--model-name", "tiny", "--json", home=tmp_path)
    (model,) = [one for one in done.data["findings"] if one["what"] == "model"]
    assert done.code == 1 and model["state"] == "failed" and model["do"].startswith("start the server")


def test_a_server_without_the_name_of_a_model_is_a_usage_error(tmp_path: Path) -> None:
    done = doctor("--model", "http://127.0.0.1:9/v1", home=tmp_path)
    assert done.code == 2 and "--model-name" in done.err


@pytest.mark.skipif(os.name == "nt", reason="the key is in the environment")
def test_no_key_is_printed(tmp_path: Path) -> None:
    with serve(raw(401, b'{"error": {"message": "bad key sk-verysecret123"}}')) as server:
        done = doctor("--model", server.url, "--model-name", "t", home=tmp_path, GRAPH_AGENT_LLM_KEY="sk-verysecret123")
    assert "verysecret" not in done.out + done.err
