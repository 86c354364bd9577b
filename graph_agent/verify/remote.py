"""A judge somewhere else: `RemoteJudge` asks a judge service, `JudgedBy` puts any judge in the place of a run's model.

The rule: only a whole answer of the known version decides. A service that is away, slow, or says anything else makes
the criteria "unknown", with why; it raises nothing and is never asked twice for the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, get_args
from urllib.parse import urlsplit, urlunsplit

from graph_agent.llm.chat_http import Pace, post, shown_url
from graph_agent.llm.chat_reply import ChatError
from graph_agent.protocols import LLM, GraphAgentError, LLMError, Reply, Request
from graph_agent.runtime import jsontext
from graph_agent.runtime.codec import json_schema
from graph_agent.runtime.errors import CodecError
from graph_agent.verify.judge import VERSION, Item, Judge, Judgement, Status
from graph_agent.verify.service import MOST_BYTES, MOST_CRITERIA

_STATUSES: tuple[Status, ...] = get_args(Status)


class JudgeURLError(GraphAgentError, ValueError):
    """No judge can be asked at such a URL."""


class RemoteJudge:
    """The judge service at `url`; without a path, at its `/judge`. `timeout`: seconds for all criteria together.

    Raises `JudgeURLError` for a URL of no use. Criteria that do not fit into one body are asked in several.
    """

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        self._url, self._timeout = judge_url(url), timeout

    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
        seconds = self._timeout
        return self._asked(task, criteria, output, Pace(seconds, seconds, seconds, time.monotonic()))

    def _asked(self, task: str, criteria: Sequence[str], output: str, pace: Pace) -> tuple[Item, ...]:
        if not criteria:
            return ()
        body = _body(task, criteria, output)
        if len(body) > MOST_BYTES and len(criteria) == 1:
            why = f"task, criterion and output have {len(body)} bytes, and a judge service takes {MOST_BYTES}"
            return _unknown(criteria, why)
        if len(body) > MOST_BYTES or len(criteria) > MOST_CRITERIA:
            half = len(criteria) // 2
            parts = (criteria[:half], criteria[half:])
            return tuple(item for part in parts for item in self._asked(task, part, output, pace))
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            came = post(self._url, headers, body, pace)
        except ChatError as error:
            return _unknown(criteria, f"the judge at {shown_url(self._url)} {self._fault(error)}")
        return read_answer(criteria, came)

    def _fault(self, error: ChatError) -> str:
        """Its words are about a chat server, so here they are said anew."""
        if error.status is not None:
            said = " ".join(error.said.split())[:200]
            return f"answered {error.status}{f': {said}' if said else ''}"
        if error.kind == "timeout":
            return f"gave no whole answer within {self._timeout:g} s"
        return f"can't be reached: {error}"


def judge_url(url: str) -> str:
    """The URL of the service that is asked. Raises `JudgeURLError`."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or not url.isascii() or any(char <= " " or char == "\x7f" for char in url):
        shown = "with an @" if "@" in url else repr(shown_url(url))
        raise JudgeURLError(
            f"the URL {shown} is of no use for a judge: give one like http://localhost:8128/judge, with http:// or "
            "https://, and without blanks, #fragment or password"
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") or "/judge", parts.query, ""))


def read_answer(criteria: Sequence[str], body: bytes) -> tuple[Item, ...]:
    """The items of a service's answer; all unknown where it is none for these criteria."""
    try:
        data = jsontext.loads(body)
    except CodecError as error:
        return _unknown(criteria, f"the judge's answer is of no use: {error}")
    if not isinstance(data, dict):
        return _unknown(criteria, f"the judge's answer is no object, but {jsontext.quote(data)}")
    if data.get("version") != VERSION:
        found = jsontext.quote(data.get("version"))
        return _unknown(criteria, f"the judge's answer has the version {found}, and {VERSION!r} is understood here")
    items = data.get("items")
    if not isinstance(items, list) or len(items) != len(criteria):
        found = f"{len(items)} items" if isinstance(items, list) else "no items"
        return _unknown(criteria, f"the judge's answer has {found} for {len(criteria)} criteria")
    return tuple(_item(criterion, given) for criterion, given in zip(criteria, items, strict=True))


def _item(criterion: str, given: Any) -> Item:
    if not isinstance(given, dict) or given.get("criterion") != criterion:
        return Item(criterion=criterion, status="unknown", why="the judge's answer is of another criterion")
    said, why = given.get("status"), given.get("why")
    status = next((one for one in _STATUSES if one == said), None)
    if status is None:
        told = f"the judge's word {jsontext.quote(said)} is none of {', '.join(_STATUSES)}"
        return Item(criterion=criterion, status="unknown", why=told)
    return Item(criterion=criterion, status=status, why=" ".join(why.split()) if isinstance(why, str) else "")


class JudgedBy:
    """A model whose judgements come from `judge`: what asks for a `Judgement` goes there, all else to `llm`."""

    def __init__(self, llm: LLM, judge: Judge) -> None:
        self._llm, self._judge = llm, judge
        self._schema = json_schema(Judgement)

    def complete(self, request: Request, /) -> Any:
        if request.schema is None or dict(request.schema) != self._schema:
            return self._llm.complete(request)
        task, criteria, output = _question(request)
        items = self._judge.judge(task, criteria, output)
        said = {
            "concerns": "none is told: the items come from a judge that gives items alone",
            "items": [
                {"number": number, "status": one.status, "why": one.why} for number, one in enumerate(items, start=1)
            ],
        }
        return Reply(text=json.dumps(said, ensure_ascii=False))


def _question(request: Request) -> tuple[str, list[str], str]:
    """Task, criteria and output of a question that `ModelJudge` asks."""
    match request.context:
        case {"task": str(task), "criteria": list(criteria), "output": str(output)}:
            texts = [one["criterion"] for one in criteria if isinstance(one, dict) and "criterion" in one]
            if len(texts) == len(criteria) and all(isinstance(one, str) for one in texts):
                return task, texts, output
    there = ", ".join(request.context)
    raise LLMError(f"a judgement is asked for without task, criteria and output; the request has: {there or 'nothing'}")


def _body(task: str, criteria: Sequence[str], output: str) -> bytes:
    data = {"task": task, "output": output, "criterion": list(criteria)}
    # Half of a surrogate pair becomes the escape that JSON has for it, and the service turns it away.
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _unknown(criteria: Sequence[str], why: str) -> tuple[Item, ...]:
    return tuple(Item(criterion=one, status="unknown", why=why) for one in criteria)
