"""Whether a model really answers: asked for a word, looked up in the server's list, asked for JSON by a schema.

The rule: the server is called as a run calls it, once for each question, and each way to fail says what mends it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from graph_agent.cli.exits import UsageError
from graph_agent.cli.models import ModelChoice, choice_of, key_for, model_of, without_query
from graph_agent.llm.ask import AskError, Truncated, ask
from graph_agent.llm.chat import ChatError, ChatLLM, ChatSettingError, chat_url
from graph_agent.llm.chat_http import ApiKey, Pace, get
from graph_agent.protocols import LLMError, Request
from graph_agent.runtime.errors import nearest
from graph_agent.runtime.state import described

State: TypeAlias = Literal["ok", "missing", "failed"]
ROOM = 2000  # tokens: a model that thinks first does so here too
MOST_NAMED = 8

_WAYS = {
    "connection": "start the server, or mend the URL",
    "timeout": "the server took the call and did not answer in time: is the model being loaded? Raise --timeout",
    "unauthorized": "put the key into GRAPH_AGENT_LLM_KEY",
    "not_found": "mend --model-name, or the path of the URL: the server says what it does not know",
    "rate_limited": "wait, or ask your provider for more",
    "redirect": "give the URL that it points to",
    "bad_reply": "what answers there is no OpenAI-compatible server: mend the URL",
    "empty": "the model answered nothing: try another one",
}
_WRONG_MODEL = re.compile(
    r"(?is)\bmodel\b.{0,80}\b(not (found|exist|available)|(do|does)(n't| not) exist|unknown|not a valid)"
    r"|\b(unknown|invalid|no such)\b.{0,10}\bmodel\b"
)
_LARGER = "use a larger model, or a server that knows response_format: plans and edits are asked for as JSON"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`necessary`: without it no run can be made. `do` is "" where there is nothing to do."""

    what: str
    state: State
    found: str
    do: str = ""
    necessary: bool = False


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What a model is asked for, to see whether it keeps to a schema."""

    colour: str = described("the colour of a clear sky by day, one word")
    number: int = described("the number of days in a week")


def model_findings(options: argparse.Namespace) -> Iterator[Finding]:
    """What comes of asking the model of the options, one by one. Raises `UsageError` at once for one that is none."""
    choice = choice_of(options)
    if not choice.is_server:
        model_of(choice)  # a recording is read here
        found = "offline: rules, no model is asked" if choice.offline else f"{choice.model} can be read"
        return iter((Finding(what="model", state="ok", found=found),))
    if not choice.name:
        raise UsageError("a server has many models: say which with --model-name or GRAPH_AGENT_LLM_MODEL")
    try:
        return _of_server(_Server(choice, options.timeout))
    except ChatSettingError as error:
        raise UsageError(str(error)) from error


class _Server:
    """The model as a run asks it. `names` are those that the server lists, None when it lists none."""

    def __init__(self, choice: ModelChoice, timeout: float) -> None:
        self.name, self.url = str(choice.name), choice.model
        self.where = f"{self.name} at {without_query(choice.model)}"
        self.notes: list[str] = []
        self._key, self._timeout = ApiKey(key_for(choice.model)), timeout
        self.llm = ChatLLM(
            choice.model,
            self.name,
            key_for(choice.model),
            connect_timeout=min(10.0, timeout),
            total_timeout=timeout,
            retries=0,
            on_note=self.notes.append,
        )

    def names(self) -> list[str] | None:
        url = chat_url(self.url).replace("/chat/completions", "/models", 1)
        limit = min(10.0, self._timeout)
        try:
            listed: Any = json.loads(
                get(
                    url,
                    {"User-Agent": "graph-agent", **self._key.headers()},
                    Pace(limit, limit, limit, time.monotonic()),
                )
            )
        except (ChatError, ValueError, RecursionError):
            return None  # many servers have no list, which is no fault
        data = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(data, list):
            return None
        return [self._key.scrub(str(one["id"])) for one in data if isinstance(one, dict) and "id" in one]


def _of_server(server: _Server) -> Iterator[Finding]:
    try:
        reply = server.llm.complete(Request(instructions="Answer with the one word: ready", max_tokens=ROOM))
    except LLMError as error:
        yield _failed("model", server, error)
        return
    said = " ".join(reply.text.split())[:60]
    counted = f" ({reply.tokens_in} tokens in, {reply.tokens_out} out)" if reply.tokens_in else ""
    yield Finding(what="model", state="ok", found=f"{server.where} answers: {said!r}{counted}", necessary=True)
    yield _known(server)
    yield _json_mode(server)


def _known(server: _Server) -> Finding:
    """A server with one model loaded answers to any name: then its list alone tells of a slip."""
    names = server.names()
    if names is None:
        return Finding(what="known", state="ok", found="the server has no list of models, and answers to this name")
    if server.name in (name.removesuffix(":latest") for name in names) or server.name in names:
        return Finding(what="known", state="ok", found=f"the server lists it, among {len(names)}")
    do = f"see that it is the one you mean{nearest(server.name, names)}; it lists {_listed(names)}"
    return Finding(what="known", state="missing", found=f"the server answers, and does not list {server.name!r}", do=do)


def _json_mode(server: _Server) -> Finding:
    question = Request(instructions="Answer both questions, as JSON.", temperature=0.0, max_tokens=ROOM)
    before = len(server.notes)
    try:
        answer = ask(server.llm, question, Probe, corrections=1)
    except Truncated as error:
        do = f"it needs more than {ROOM} tokens for two words: use a model that thinks less"
        return Finding(what="JSON", state="failed", found=f"{server.where}: {error.message}", do=do, necessary=True)
    except AskError as error:
        return Finding(
            what="JSON", state="failed", found=f"{server.where}: {error.message}", do=_LARGER, necessary=True
        )
    except LLMError as error:
        return _failed("JSON", server, error)
    said = f"it keeps to a schema: colour {answer.colour!r}, number {answer.number}"
    how = "; ".join(note for note in server.notes[before:] if "response_format" in note)
    return Finding(what="JSON", state="ok", found=f"{said} ({how or 'response_format json_schema'})", necessary=True)


def _failed(what: str, server: _Server, error: LLMError) -> Finding:
    return Finding(what=what, state="failed", found=str(error), do=_way(server, error), necessary=True)


def _way(server: _Server, error: LLMError) -> str:
    if not isinstance(error, ChatError):
        return "see what the server said"
    if error.kind == "connection" and "through the proxy" in error.message:
        return "a proxy is set in the environment: mend it, or name the server in NO_PROXY"
    wrong_model = error.kind == "http" and (error.param == "model" or _WRONG_MODEL.search(error.said))
    kind = "not_found" if wrong_model else error.kind
    if kind == "not_found" and (names := server.names()):
        return f"mend --model-name{nearest(server.name, names)}: the server lists {_listed(names)}"
    if kind == "unauthorized" and os.environ.get("GRAPH_AGENT_LLM_KEY"):
        return "the key in GRAPH_AGENT_LLM_KEY is refused: put the right one there"
    return _WAYS.get(kind, "see what the server said")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more if names else "none"
