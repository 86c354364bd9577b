"""A real server, when there is one: GRAPH_AGENT_LLM_URL and GRAPH_AGENT_LLM_MODEL name it (`pytest -m live`).

GRAPH_AGENT_LLM_KEY holds its key, where it wants one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph_agent.llm.ask import ask
from graph_agent.llm.chat import ChatLLM
from graph_agent.protocols import Request

URL, MODEL = os.environ.get("GRAPH_AGENT_LLM_URL"), os.environ.get("GRAPH_AGENT_LLM_MODEL")
ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not (URL and MODEL), reason="GRAPH_AGENT_LLM_URL and GRAPH_AGENT_LLM_MODEL are not set"),
]


@dataclass(frozen=True, kw_only=True)
class Addition:
    sum: int


@pytest.fixture
def llm() -> ChatLLM:
    assert URL and MODEL
    return ChatLLM(URL, MODEL, os.environ.get("GRAPH_AGENT_LLM_KEY"), on_note=print)


def test_a_real_server_answers_in_text(llm):
    reply = llm.complete(Request(instructions="Reply with the word in the context.", context={"word": "tide"}))
    assert reply.finish == "stop" and "tide" in reply.text.lower()
    assert reply.tokens_in > 0 and reply.tokens_out > 0


def test_a_real_server_is_asked_for_a_dataclass(llm):
    asked = Request(instructions="Add the two numbers.", context={"a": 2, "b": 3}, temperature=0.0, max_tokens=200)
    assert ask(llm, asked, into=Addition) == Addition(sum=5)


def test_a_real_server_cuts_at_the_limit_and_says_so(llm):
    asked = Request(instructions="Count from 1 to 200 in words.", max_tokens=8)
    assert llm.complete(asked).finish == "length"


def test_a_whole_repair_with_a_real_server_ends_with_a_report(tmp_path):
    assert URL and MODEL
    words = ["repair", str(ROOT / "fixtures" / "repair" / "pager"), "--json", "--run-dir", str(tmp_path)]
    words += ["--model", URL, "--model-name", MODEL, "--retries", "3"]
    ended = subprocess.run(
        [sys.executable, "-m", "graph_agent", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=3600,
    )
    assert ended.returncode in (0, 3), ended.stderr
    report = json.loads(ended.stdout)
    assert report["exit_code"] == ended.returncode and report["turns"] > 0
