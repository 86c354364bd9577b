"""A server that does not know a field is asked more simply, one step at a time, and never for another reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graph_agent.llm.chat import ChatError, ChatLLM
from graph_agent.protocols import Reply, Request
from tests.llm.chat_server import Server, Wire, answer, refuses, says, serve

SCHEMA = {
    "type": "object",
    "properties": {"plan": {"type": "string"}},
    "required": ["plan"],
    "additionalProperties": False,
}
ASK = Request(instructions="Plan.", context={"to": "you"}, schema=SCHEMA)
PLAIN = Request(instructions="Say hello.", context={"to": "you"})
FOUND = says('{"plan": "x"}')


def model(server: Server, **options: Any) -> ChatLLM:
    llm = ChatLLM(server.url, "m", **options)
    llm._sleep = lambda seconds: None
    return llm


def forms(server: Server) -> list[str | None]:
    """What each call asked for: json_schema, json_object+schema, json_object, or None."""
    found: list[str | None] = []
    for body in server.bodies:
        asked = body.get("response_format")
        found.append(asked and asked["type"] + ("+schema" if "schema" in asked else ""))
    return found


def test_a_schema_is_asked_for_in_the_strictest_form_first():
    with serve(FOUND) as server:
        model(server).complete(ASK)
    asked = server.bodies[0]["response_format"]
    assert asked == {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}}


def test_what_the_request_leaves_open_is_not_sent():
    with serve(says()) as server:
        model(server).complete(PLAIN)
    assert server.bodies[0].keys() == {"model", "messages"}


def test_extra_fields_go_out_as_they_are_and_win():
    with serve(FOUND) as server:
        model(server, extra={"seed": 7, "temperature": 0.5}).complete(Request(instructions="x", temperature=0))
    assert server.bodies[0]["seed"] == 7 and server.bodies[0]["temperature"] == 0.5


LLAMA_CPP_PYTHON = (
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input "
    "should be 'text' or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}"
)


@pytest.mark.parametrize(
    "rejection",
    [
        refuses("'response_format.type' must be 'text' or 'json_object'"),
        refuses("This response_format type is unavailable now", param=None, code="invalid_request_error"),
        refuses("Invalid schema for response_format 'reply': schema must have a 'type' key.", param="response_format"),
        refuses("Structured outputs are not supported by this model."),
        refuses("Failed to initialize samplers: failed to parse grammar"),
        answer(422, "Failed to deserialize the JSON body: response_format.type `json_schema` is unavailable now"),
        answer(
            422,
            json.dumps({"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra"}]}),
        ),
        answer(400, json.dumps({"error": "response_format: json_schema is not supported"})),
        refuses("Unsupported response_format", status=501),
        refuses(LLAMA_CPP_PYTHON, status=500, type="internal_server_error"),
        refuses('response_format type must be one of "text" or "json_object", but got: json_schema', status=500),
    ],
)
def test_a_rejected_form_is_one_step_down_at_once_and_remembered(rejection):
    notes: list[str] = []
    with serve(rejection, FOUND, FOUND) as server:
        llm = model(server, retries=0, on_note=notes.append)
        llm.complete(ASK)
        llm.complete(ASK)
    assert forms(server) == ["json_schema", "json_object+schema", "json_object+schema"]
    assert len(notes) == 1 and "json_schema is not taken here" in notes[0]


def test_two_rejections_lead_to_the_prompt_which_then_asks_for_a_fence():
    must = refuses("'response_format.type' must be 'json_schema' or 'text'")
    with serve(refuses("json_schema is not supported"), must, FOUND, FOUND) as server:
        llm = model(server)
        llm.complete(ASK)
        llm.complete(ASK)
    assert forms(server) == ["json_schema", "json_object+schema", None, None]
    assert "```json fence" in server.bodies[2]["messages"][0]["content"]


@pytest.mark.parametrize(
    "rejection",
    [
        refuses("maximum context length exceeded (response_format=json_object is not supported then)"),
        refuses("This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
        refuses("the request exceeds the available context size", status=500, type="exceed_context_size_error"),
        refuses("'max_tokens' is too large: 9000. This model's maximum context length is 4096", param="max_tokens"),
        refuses("prompt is too long: 210000 tokens > 200000 maximum"),
        answer(413, "<html>413 Request Entity Too Large</html>"),
    ],
)
def test_a_prompt_that_is_too_long_is_never_mistaken_for_an_unknown_field(rejection):
    with serve(rejection) as server:
        with pytest.raises(ChatError) as caught:
            model(server).complete(Request(instructions="x", schema=SCHEMA, max_tokens=9000))
    assert caught.value.kind == "context_too_long" and not caught.value.retryable
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "rejection",
    [
        refuses("The model `m` does not exist"),
        refuses("Invalid value for 'model': unknown model", param="model"),
        refuses("Unsupported value in messages; response_format was fine", param="messages[0].content"),
        refuses("You have no credit left for response_format json_schema"),
        refuses("temperature must be between 0 and 2", param="temperature"),
        refuses("Invalid 'max_tokens': expected a value at least 1", param="max_tokens"),
        refuses("messages: bad, " + "you sent: " * 120 + "response_format json_schema, which is not supported"),
        refuses("max_tokens is too large: this model supports at most 4096 completion tokens", param="max_tokens"),
    ],
)
def test_any_other_rejection_is_raised_as_it_is(rejection):
    with serve(rejection) as server:
        with pytest.raises(ChatError) as caught:
            model(server).complete(Request(instructions="x", schema=SCHEMA, temperature=9.0, max_tokens=90_000))
    assert caught.value.kind == "http" and caught.value.status == 400
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "rejection",
    [
        refuses("Use 'max_completion_tokens'"),
        refuses(
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        refuses("Unrecognized request argument supplied: max_tokens"),
    ],
)
def test_a_model_that_wants_max_completion_tokens_gets_it(rejection):
    notes: list[str] = []
    asked = Request(instructions="x", max_tokens=50)
    with serve(rejection, says(), says()) as server:
        llm = model(server, on_note=notes.append)
        llm.complete(asked)
        llm.complete(asked)
    for body in server.bodies[1:]:
        assert body["max_completion_tokens"] == 50 and "max_tokens" not in body
    assert len(server.asked) == 3 and len(notes) == 1


@pytest.mark.parametrize(
    "rejection",
    [
        refuses("Only the default (1)"),
        refuses("Unsupported value: 'temperature' does not support 0 with this model.", param="temperature"),
        refuses("invalid temperature: only 1 is allowed for this model"),
        refuses("`temperature` is deprecated for this model."),
    ],
)
def test_a_model_without_a_temperature_is_asked_without(rejection):
    asked = Request(instructions="x", temperature=0.0)
    with serve(rejection, says(), says()) as server:
        llm = model(server)
        llm.complete(asked)
        llm.complete(asked)
    assert ["temperature" in body for body in server.bodies] == [True, False, False]


def strict(wire: Wire) -> None:
    """A server that knows nothing, and names one field at a time."""
    body = wire.asked.body
    if "max_tokens" in body:
        refuses("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'", param="max_tokens")(wire)
    elif "temperature" in body:
        refuses("Unsupported value: 'temperature'", param="temperature")(wire)
    elif "response_format" in body:
        refuses("response_format is not supported", param="response_format")(wire)
    else:
        FOUND(wire)


def test_a_server_that_knows_nothing_is_understood_field_by_field_and_only_once():
    asked = Request(instructions="x", context={"a": 1}, schema=SCHEMA, temperature=0.0, max_tokens=50)
    with serve(*[strict] * 9) as server:
        llm = model(server, retries=0)
        assert llm.complete(asked) == Reply(text='{"plan": "x"}')
        calls = len(server.asked)
        llm.complete(asked)
        assert len(server.asked) == calls + 1 and calls == 5
    assert server.bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}


def test_a_server_that_rejects_everything_for_ever_is_left_after_a_few_steps():
    with serve(*[refuses("response_format json_object temperature max_tokens are not supported")] * 20) as server:
        with pytest.raises(ChatError):
            model(server).complete(Request(instructions="x", schema=SCHEMA, temperature=0.0, max_tokens=5))
    assert len(server.asked) <= 6


def test_a_field_that_the_user_gave_as_extra_is_not_taken_away():
    with serve(refuses("response_format is not supported")) as server:
        with pytest.raises(ChatError):
            model(server, extra={"response_format": {"type": "text"}}).complete(ASK)
    assert len(server.asked) == 1


def mute(wire: Wire) -> None:
    """A server that dies of a form of answer without a word about it."""
    (answer(500, "Internal Server Error") if "response_format" in wire.asked.body else FOUND)(wire)


def test_a_second_bare_500_to_a_form_that_never_worked_leads_to_the_prompt():
    with serve(*[mute] * 9) as server:
        llm = model(server, retries=2)
        llm.complete(ASK)
        llm.complete(ASK)
    assert forms(server) == ["json_schema", "json_schema", None, None]


def test_bare_500s_that_have_another_cause_change_nothing_for_later():
    down = answer(500, "Internal Server Error")
    with serve(down, down, down, FOUND, down, down, FOUND) as server:
        llm = model(server, retries=2)
        with pytest.raises(ChatError):
            llm.complete(ASK)
        llm.complete(ASK)
        llm.complete(ASK)
    assert forms(server) == ["json_schema", "json_schema", None] + ["json_schema"] * 4


def test_prose_in_place_of_json_is_a_reply_for_the_parser_to_judge():
    with serve(says("Sure! Here is the plan.")) as server:
        assert model(server).complete(ASK).text == "Sure! Here is the plan."
