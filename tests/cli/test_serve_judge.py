"""`serve-judge`: a real process on loopback that says where it is, judges, keeps quiet, and ends when it is told to."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from graph_agent.verify.remote import RemoteJudge
from graph_agent.verify.rulejudge import RuleJudge
from tests.cli.running import ENOUGH, cli, variables
from tests.llm.chat_server import says, serve

TASK, OUTPUT = "Find the limit.", '"The limit is 25 steps." [E1]'
CRITERIA = ["gives a number", 'mentions "tape"']
KEY = "zz-CANARY-1234567890"


@contextmanager
def serving(home: Path, *words: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its first line; killed at the end where it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "graph_agent", "serve-judge", "--port", "0", *words],
        cwd=home,
        env=variables(home, **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=ENOUGH)


def url_in(line: str) -> str:
    found = re.match(r"http://127\.0\.0\.1:\d+/judge(?= is judged by )", line)
    assert found, line
    return found[0]


def test_it_says_where_it_is_judges_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, line):
        url = url_in(line)
        assert line.endswith("/judge is judged by rules; Ctrl-C ends it\n")
        assert RemoteJudge(url).judge(TASK, CRITERIA, OUTPUT) == RuleJudge().judge(TASK, CRITERIA, OUTPUT)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=ENOUGH)
    assert process.returncode == 130
    assert (out, err) == ("", "graph_agent: interrupted; to start again, give the same command\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a process is terminated without a word there")
def test_it_ends_when_it_is_terminated_also_while_a_client_hangs(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, line):
        port = int(url_in(line).split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            sock.sendall(b"POST /judge HTTP/1.0\r\nContent-Length: 10\r\nContent-Type: application/json\r\n\r\n{")
            RemoteJudge(url_in(line)).judge(TASK, CRITERIA, OUTPUT)  # another is served meanwhile
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=ENOUGH)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in err


def test_nothing_that_it_was_sent_is_written_anywhere(tmp_path: Path) -> None:
    secret = "zz-SENT-4711"
    with serving(tmp_path) as (process, line):
        url = url_in(line)
        RemoteJudge(url).judge(secret, [f"mentions {secret}"], f"{secret} is long enough. [E1]")
        connection = HTTPConnection("127.0.0.1", int(url.split(":")[2].split("/")[0]), timeout=20)
        connection.request("POST", f"/{secret}", secret.encode())
        assert connection.getresponse().status == 404
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=ENOUGH)
    assert secret not in out + err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_model_can_judge_and_its_key_is_not_shown(tmp_path: Path) -> None:
    judgement = {"concerns": "none", "items": [{"number": 1, "status": "satisfied", "why": "it says 25"}]}
    with serve(says(json.dumps(judgement))) as model:
        words = ["--judge", "model", f"{model.url}?key={KEY}", "--model-name", "small", "--wording", "2"]
        with serving(tmp_path, *words, GRAPH_AGENT_LLM_KEY=KEY) as (_, line):
            (item,) = RemoteJudge(url_in(line)).judge(TASK, CRITERIA[:1], OUTPUT)
        assert f"judged by small at {model.url}, wording 2;" in line
    assert KEY not in line
    assert (item.status, item.why) == ("satisfied", "it says 25")
    (asked,) = model.bodies
    assert "second reader" in json.dumps(asked)


@pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is this machine there")
def test_it_listens_on_one_address_of_this_machine_alone(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, line):
        port = int(url_in(line).split(":")[2].split("/")[0])
        socket.create_server(("127.0.0.2", port)).close()  # a server on all addresses would have it


USAGE: dict[str, tuple[list[str], str]] = {
    "a judge that is none": (["--judge", "rule"], "did you mean 'rules'"),
    "a service": (["--judge", "http://127.0.0.1:1/judge"], "give rules, or model URL"),
    "a word too many": (["--judge", "rules", "more"], "does not take 'more'"),
    "no URL": (["--judge", "model"], "names no model"),
    "offline": (["--judge", "model", "offline"], "give --judge rules"),
    "no name": (["--judge", "model", "http://127.0.0.1:1/v1"], "--model-name"),
    "a name for the rules": (["--model-name", "x"], "are for a model"),
    "a port that is none": (["--port", "70000"], "from 0 to 65535"),
}


@pytest.mark.parametrize("words, said", USAGE.values(), ids=USAGE)
def test_what_can_not_be_served_is_a_usage_error(tmp_path: Path, words: list[str], said: str) -> None:
    ended = cli("serve-judge", *words, home=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_port_that_is_taken_is_said_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = cli("serve-judge", "--port", str(taken.getsockname()[1]), home=tmp_path)
    assert ended.code == 2
    assert "give --port another, or 0 for any" in ended.err


def test_the_service_answers_json_whatever_comes(tmp_path: Path) -> None:
    asked: list[tuple[str, str, Any, int]] = [
        ("GET", "/", None, 200),
        ("GET", "/judge", None, 405),
        ("GET", "/favicon.ico", None, 404),
        ("POST", "/judge", b"{}", 415),
    ]
    with serving(tmp_path) as (_, line):
        port = int(url_in(line).split(":")[2].split("/")[0])
        for method, path, body, status in asked:
            connection = HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request(method, path, body)
            response = connection.getresponse()
            assert (response.status, response.getheader("Content-Type")) == (status, "application/json")
            assert json.loads(response.read())
            connection.close()
