"""The arguments of a function, as a JSON Schema and as a check, both from its annotations.

Types go through the codec that also reads checkpoints and model replies, so a tool takes what a state can hold: plain
values, tuples, frozen dataclasses, paths, enums. The rule: a parameter whose type cannot come out of JSON is refused
when the function becomes a tool, not when a model calls it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_type_hints

from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.runtime.codec import decode
from graph_agent.runtime.errors import CodecError
from graph_agent.runtime.schema import json_schema
from graph_agent.runtime.typecheck import checker, misfit, problem

REQUIRED = inspect.Parameter.empty


class SignatureError(GraphAgentError, TypeError):
    """A function that a model cannot be asked to call."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter's resolved type, and its default or REQUIRED."""

    type: Any
    default: Any


def parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters by name. Raises SignatureError for one that cannot be given by name, or from JSON."""
    types = _types(function)
    found: dict[str, Parameter] = {}
    for name, given in inspect.signature(function).parameters.items():
        if given.kind not in (given.POSITIONAL_OR_KEYWORD, given.KEYWORD_ONLY):
            raise SignatureError(f"{given} is not one named argument; write out each parameter")
        if name not in types:
            raise SignatureError(f"parameter {name!r} has no annotation")
        why = problem(types[name])
        if why is None and given.default is not REQUIRED:
            fault = misfit(types[name], given.default)
            why = fault and f"its default: {fault[1]}"
        if why:
            raise SignatureError(f"parameter {name!r}: {why}")
        found[name] = Parameter(type=types[name], default=given.default)
    return found


def arguments_schema(known: Mapping[str, Parameter]) -> dict[str, Any]:
    """The JSON Schema of all arguments together, an object."""
    return {
        "type": "object",
        "properties": {name: json_schema(parameter.type) for name, parameter in known.items()},
        "required": [name for name, parameter in known.items() if parameter.default is REQUIRED],
        "additionalProperties": False,
    }


def fitted(tool: str, known: Mapping[str, Parameter], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the types of the parameters. Raises ToolError bad_arguments with the path of the misfit."""
    return {
        name: _fitted(tool, known[name].type, name, value) if name in known else value
        for name, value in arguments.items()
    }


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring, on one line; "" without one."""
    text = inspect.cleandoc(getattr(function, "__doc__", None) or "")
    return " ".join(text.split("\n\n")[0].split())


def _fitted(tool: str, tp: Any, name: str, value: Any) -> Any:
    if checker(tp)(value):
        return value
    try:
        return decode(tp, value, name)
    except CodecError as error:
        raise ToolError("bad_arguments", f"{tool} cannot take {error}.") from error


def _types(function: Callable[..., Any]) -> dict[str, Any]:
    target: Any = function
    while isinstance(target, partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise SignatureError(f"its annotations cannot be read ({error}); their types must be global names") from error
