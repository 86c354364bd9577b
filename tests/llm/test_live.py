"""A real server, when there is one: GRAPH_AGENT_LLM_URL and GRAPH_AGENT_LLM_MODEL name it (`pytest -m live`).

GRAPH_AGENT_LLM_KEY holds its key, where it wants one.
"""

from __future__ import annotations

import json
import os

import pytest

from graph_agent.llm.chat import ChatLLM
from graph_agent.protocols import Request

URL, MODEL = os.environ.get("GRAPH_AGENT_LLM_URL"), os.environ.get("GRAPH_AGENT_LLM_MODEL")

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not (URL and MODEL), reason="GRAPH_AGENT_LLM_URL and GRAPH_AGENT_LLM_MODEL are not set"),
]


@pytest.fixture
def llm() -> ChatLLM:
    assert URL and MODEL
    return ChatLLM(URL, MODEL, os.environ.get("GRAPH_AGENT_LLM_KEY"), on_note=print)


def test_a_real_server_answers_in_text(llm):
    reply = llm.complete(Request(instructions="Reply with the word in the context.", context={"word": "tide"}))
    assert reply.finish == "stop" and "tide" in reply.text.lower()
    assert reply.tokens_in > 0 and reply.tokens_out > 0


def test_a_real_server_answers_with_the_object_that_a_schema_asks_for(llm):
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "integer", "description": "a plus b"}},
        "required": ["sum"],
        "additionalProperties": False,
    }
    asked = Request(instructions="Add the two numbers.", context={"a": 2, "b": 3}, schema=schema, temperature=0.0)
    text = llm.complete(asked).text
    assert json.loads(text[text.index("{") : text.rindex("}") + 1]) == {"sum": 5}


def test_a_real_server_cuts_at_the_limit_and_says_so(llm):
    asked = Request(instructions="Count from 1 to 200 in words.", max_tokens=8)
    assert llm.complete(asked).finish == "length"
