"""FIELD=VALUE: an answer to a pause as a person types it, and an answer that is offered, as they would type it.

A value is read by the codec for the field's own type: as JSON where it is JSON of that type, else as plain text. The
rule: what is written for a value is read as that value again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_origin

from graph_agent.cli.exits import UsageError
from graph_agent.protocols import Json
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.errors import CodecError, nearest
from graph_agent.runtime.graph import Graph, stage_name
from graph_agent.runtime.jsontext import dumps, loads
from graph_agent.runtime.state import GraphState
from graph_agent.runtime.typecheck import hints, type_name


def read_patch(graph: Graph[Any], state: GraphState, words: list[str]) -> dict[str, Any]:
    """The patch that the words make at the pause where the run stands. Raises `UsageError`."""
    owned, types = graph.nodes[state.stage].owns, hints(graph.state)
    patch: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in owned:
            known = "".join(f"\n  {one}: {type_name(types[one])}" for one in sorted(owned))
            wrong = f"{stage_name(state.stage)} takes no field {name!r}{nearest(name, owned)}" if equals else repr(word)
            raise UsageError(f"{wrong}: give FIELD=VALUE with one of its fields:{known}")
        if name in patch:
            raise UsageError(f"{name} is there twice: give it once, a list of several as JSON")
        patch[name] = read_value(types[name], text, name)
    return patch


def read_value(tp: Any, text: str, name: str) -> Any:
    """A value of type `tp`. For a tuple one bare item stands for a list of one. Raises `UsageError`."""
    errors: list[CodecError] = []
    for data in _meanings(tp, text):
        try:
            return decode(tp, data, name)
        except CodecError as error:
            errors.append(error)
    raise UsageError(f"{errors[0]}: give it as JSON, or as plain text where it is a text")


def written_answer(graph: Graph[Any], patch: Mapping[str, Any]) -> list[str]:
    """The words that make a patch."""
    types = hints(graph.state)
    return [f"{name}={written_value(types[name], value, name)}" for name, value in patch.items()]


def written_value(tp: Any, value: Any, name: str) -> str:
    """The shortest way to write it that is read as the same."""
    data: Any = encode(value, tp)
    item = data[0] if isinstance(data, list) and len(data) == 1 else None
    for text in (one for one in (data, item) if isinstance(one, str)):
        try:
            if read_value(tp, text, name) == value:
                return text
        except UsageError:
            pass  # it reads as something else, so JSON it is
    return dumps(data if item is None else item)


def _meanings(tp: Any, text: str) -> Iterator[Json]:
    """What the text may stand for; the most likely first, which is the one whose error is told."""
    is_list = get_origin(tp) is tuple
    try:
        parsed = [loads(text)]
    except CodecError:
        parsed = []
    for data in (*parsed, text):
        if is_list and not isinstance(data, list):
            yield [data]
        else:
            yield data
