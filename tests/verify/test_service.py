"""The judge as a service: what it answers, what it turns away and with which status, and that it keeps nothing."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.judge import VERSION, Item
from graph_agent.verify.rulejudge import RuleJudge
from graph_agent.verify.service import MOST_BYTES, MOST_CRITERIA, app, make_app, reason_of
from tests.verify.judge_server import serving

TASK = "Find out how long backups are kept."
OUTPUT = '"A backup is kept for 35 days." [E1]'
ASKED = {"task": TASK, "output": OUTPUT, "criterion": ["gives a number", 'mentions "tape"']}
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(app) as found:
        yield found


def ask(port: int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def post(port: int, data: Any) -> Answer:
    return ask(port, "POST", "/judge", json.dumps(data).encode(), JSON)


def called(application: Any, **environ: Any) -> tuple[str, dict[str, Any]]:
    """In this process, with the rules of WSGI checked on both sides."""
    told: list[str] = []
    setup_testing_defaults(environ)
    environ |= {"SCRIPT_NAME": "", "QUERY_STRING": ""}

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        told.append(status)

    answer = validator(application)(environ, start_response)
    try:
        body = b"".join(answer)
    finally:
        answer.close()
    return told[0], json.loads(body)


def posted(application: Any, body: bytes, **more: Any) -> tuple[str, dict[str, Any]]:
    facts = {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    return called(application, REQUEST_METHOD="POST", PATH_INFO="/judge", **facts | more)


def test_it_gives_items_score_reason_and_version(port: int) -> None:
    answer = post(port, ASKED)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    items = answer.data["items"]
    assert [one["criterion"] for one in items] == ASKED["criterion"]
    assert [one["status"] for one in items] == ["satisfied", "violated"]
    assert all(one["why"] for one in items)
    assert answer.data["score"] == 0.5
    assert answer.data["reason"].startswith("1 of 2 criteria satisfied; 'mentions \"tape\"' is violated: ")
    assert answer.data["version"] == VERSION
    assert set(answer.data) == {"items", "score", "reason", "version"}


def test_one_criterion_may_stand_without_a_list(port: int) -> None:
    answer = post(port, ASKED | {"criterion": "gives a number"})
    assert [one["status"] for one in answer.data["items"]] == ["satisfied"]
    assert answer.data["reason"] == "1 of 1 criteria satisfied"


def test_it_judges_as_the_judge_behind_it_does(port: int) -> None:
    items = RuleJudge().judge(TASK, ASKED["criterion"], OUTPUT)
    expected = [{"criterion": one.criterion, "status": one.status, "why": one.why} for one in items]
    assert post(port, ASKED).data["items"] == expected


def test_a_get_says_what_it_is_and_what_it_takes(port: int) -> None:
    answer = ask(port, "GET", "/")
    assert answer.status == 200
    assert answer.data["version"] == VERSION
    assert answer.data["judge"] == "RuleJudge"
    assert set(answer.data["POST /judge"]) == set(ASKED)
    assert answer.data["most"] == {"bytes": MOST_BYTES, "criteria": MOST_CRITERIA}


def test_a_head_has_the_headers_and_no_body(port: int) -> None:
    answer = ask(port, "HEAD", "/")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == ask(port, "GET", "/").headers["content-length"]


TURNED_AWAY: dict[str, tuple[Any, str]] = {
    "a list": ([ASKED], "must be an object"),
    "no task": ({"output": OUTPUT, "criterion": "gives a number"}, "task is missing"),
    "no criterion": ({"task": TASK, "output": OUTPUT}, "criterion is missing"),
    "a transcript": (ASKED | {"transcript": "I tried hard"}, "'transcript' is not taken"),
    "a misspelt key": (ASKED | {"criteria": []}, "did you mean"),
    "a task that is a number": (ASKED | {"task": 7}, "task must be a text"),
    "an output that is null": (ASKED | {"output": None}, "output must be a text"),
    "a list of no criteria": (ASKED | {"criterion": []}, "criterion must be"),
    "a criterion of blanks": (ASKED | {"criterion": ["  "]}, "criterion must be"),
    "a criterion that is a number": (ASKED | {"criterion": [1]}, "criterion must be"),
    "too many criteria": (ASKED | {"criterion": ["gives a number"] * (MOST_CRITERIA + 1)}, "50 are allowed"),
    "half a surrogate pair": (ASKED | {"output": "\ud800"}, "lone surrogate"),
}


@pytest.mark.parametrize("data, said", TURNED_AWAY.values(), ids=TURNED_AWAY)
def test_what_is_no_such_question_is_turned_away_and_says_why(port: int, data: Any, said: str) -> None:
    answer = post(port, data)
    assert (answer.status, answer.data["status"]) == (400, 400)
    assert said in answer.data["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"task": 1, "task": 2}', b"[" * 5000, b'{"task": NaN}'])
def test_a_body_that_can_not_be_read_is_a_400(port: int, body: bytes) -> None:
    answer = ask(port, "POST", "/judge", body, JSON)
    assert answer.status == 400
    assert answer.data["error"].startswith("the body can't be read: ")


def test_another_path_is_a_404(port: int) -> None:
    answer = ask(port, "GET", "/judges")
    assert answer.status == 404
    assert "GET / says what there is" in answer.data["error"]


@pytest.mark.parametrize("method, path, allowed", [("GET", "/judge", "POST"), ("POST", "/", "GET, HEAD")])
def test_another_method_is_a_405_that_says_which_are_allowed(port: int, method: str, path: str, allowed: str) -> None:
    answer = ask(port, method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allowed)


def test_a_question_of_a_browser_before_it_posts_is_not_agreed_to(port: int) -> None:
    answer = ask(port, "OPTIONS", "/judge", headers={"Origin": "http://example.org"})
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
def test_a_body_that_is_not_said_to_be_json_is_a_415(port: int, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    assert ask(port, "POST", "/judge", json.dumps(ASKED).encode(), headers).status == 415


def test_json_may_name_its_charset(port: int) -> None:
    kind = {"Content-Type": "application/JSON; charset=UTF-8"}
    assert ask(port, "POST", "/judge", json.dumps(ASKED).encode(), kind).status == 200


def test_a_body_without_a_length_is_a_411(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall(b"POST /judge HTTP/1.0\r\nContent-Type: application/json\r\n\r\n")
        assert b" 411 " in sock.makefile("rb").readline()


@pytest.mark.parametrize("length", ["-1", "many", "1.5", "9" * 20, "\u0663"])
def test_a_length_that_is_none_is_a_400(length: str) -> None:
    told: list[str] = []
    environ: dict[str, Any] = {"REQUEST_METHOD": "POST", "PATH_INFO": "/judge", "CONTENT_TYPE": "application/json"}
    environ |= {"CONTENT_LENGTH": length, "wsgi.input": io.BytesIO(b"{}")}
    answer: Any = app(environ, lambda status, headers: told.append(status))  # type: ignore[arg-type,misc,return-value]
    assert told[0].startswith("400 ")
    assert "Content-Length" in json.loads(b"".join(answer))["error"]


def test_a_body_of_the_largest_size_is_judged_and_one_byte_more_is_a_413(port: int) -> None:
    room = MOST_BYTES - len(json.dumps(ASKED | {"output": ""}).encode())
    assert post(port, ASKED | {"output": "a" * room}).status == 200
    answer = post(port, ASKED | {"output": "a" * (room + 1)})
    assert answer.status == 413
    assert f"{MOST_BYTES + 1} bytes" in answer.data["error"]


def test_who_sends_far_too_much_still_reads_why(port: int) -> None:
    assert ask(port, "POST", "/judge", b"a" * (12 * MOST_BYTES), JSON).status == 413


def test_of_a_body_that_is_too_long_no_more_than_a_piece_is_held() -> None:
    asked_for: list[int] = []

    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            asked_for.append(size)
            return b"a" * size

    status, _ = posted(app, b"", CONTENT_LENGTH=str(10**12), **{"wsgi.input": Endless()})
    assert status.startswith("413 ")
    assert max(asked_for) <= MOST_BYTES
    assert sum(asked_for) <= 1024 * 1024


def test_a_body_that_breaks_off_is_a_400() -> None:
    status, data = posted(app, b'{"task"', CONTENT_LENGTH="100")
    assert status.startswith("400 ")
    assert "after 7 of 100 bytes" in data["error"]


def test_a_client_that_is_gone_in_the_middle_does_not_end_the_server(port: int) -> None:
    head = b"POST /judge HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall(head)
    assert post(port, ASKED).status == 200


class Judge:
    """Gives what it is made with, or raises it."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def test_a_judge_that_fails_is_a_500_that_tells_nothing_of_what_was_sent(capfd: pytest.CaptureFixture[str]) -> None:
    secret = "zz-CANARY-4711"
    body = json.dumps(ASKED | {"output": secret}).encode()
    with serving(make_app(Judge(ValueError(f"what is {secret}?")))) as port:
        answer = ask(port, "POST", "/judge", body, JSON)
    assert (answer.status, answer.data["error"]) == (500, "the judge failed with a ValueError")
    out, err = capfd.readouterr()
    assert secret not in out + err


OTHER_ITEMS: dict[str, Any] = {
    "none": (),
    "of another criterion": (Item(criterion="x", status="satisfied"),) * 2,
    "no items": None,
    "texts": ("satisfied", "satisfied"),
}


@pytest.mark.parametrize("given_items", OTHER_ITEMS.values(), ids=OTHER_ITEMS)
def test_a_judge_that_gives_other_items_is_a_500(given_items: Any) -> None:
    status, data = posted(make_app(Judge(given_items)), json.dumps(ASKED).encode())
    assert status.startswith("500 ")
    assert data["error"].startswith("the judge ")


def test_questions_at_the_same_time_get_their_own_answers(port: int) -> None:
    answers: dict[int, list[str]] = {}

    def one(number: int) -> None:
        data = post(port, {"task": TASK, "output": OUTPUT, "criterion": [f'mentions "{number}"']}).data
        answers[number] = [item["criterion"] for item in data["items"]]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: [f'mentions "{number}"'] for number in range(12)}


def test_nothing_of_a_request_is_written_down(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    post(port, ASKED)
    ask(port, "GET", "/nowhere?key=1")
    assert capfd.readouterr() == ("", "")


@given(
    st.binary(max_size=60)
    | st.recursive(st.none() | st.text(max_size=5), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_no_body_is_anything_but_a_judgement_or_an_error_with_a_status(body: bytes) -> None:
    status, data = posted(app, body)
    assert status.startswith("400 ") and set(data) == {"error", "status"}


def test_the_reason_names_the_first_that_is_missed() -> None:
    items = [Item(criterion="a", status="satisfied"), Item(criterion="b", status="insufficient_evidence")]
    assert reason_of(items) == "1 of 2 criteria satisfied; 'b' is insufficient evidence"


def test_importing_the_service_brings_no_server_and_no_client() -> None:
    heavy = ("http.client", "socketserver", "ssl", "asyncio")
    code = f"import sys, graph_agent.verify.service; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"
