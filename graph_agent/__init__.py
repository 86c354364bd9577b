"""A graph runtime for agents, written by hand on the standard library alone.

The names below are all that a user needs to build and run a graph. They are looked up when they are first used, so
that `import graph_agent` costs next to nothing; read `runtime/run.py` for the loop, then `workflows/repair/graph.py`
for a table that does real work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.llm.ask import aask, ask
    from graph_agent.llm.chat import ChatLLM
    from graph_agent.llm.fake import FakeLLM
    from graph_agent.llm.offline import MutationLLM
    from graph_agent.llm.record import RecordingLLM, ReplayLLM
    from graph_agent.protocols import (
        LLM,
        Context,
        ContextError,
        GraphAgentError,
        LLMError,
        Reply,
        Request,
        Tool,
        ToolCall,
        ToolDenied,
        ToolError,
        ToolResult,
        Tools,
    )
    from graph_agent.runtime.advance import advance, apply_patch
    from graph_agent.runtime.answer import answer, pause_id, question
    from graph_agent.runtime.check import check_graph
    from graph_agent.runtime.checkpoint import load_checkpoint, save_checkpoint
    from graph_agent.runtime.codec import decode, encode
    from graph_agent.runtime.errors import (
        AnswerError,
        CheckpointAbsent,
        CheckpointCorrupt,
        CheckpointError,
        CodecError,
        GraphError,
        LimitReached,
        NodeError,
        PatchError,
        RouteError,
        RunError,
        StateError,
        StepLimitReached,
    )
    from graph_agent.runtime.events import Event, trace_line
    from graph_agent.runtime.fanout import Outcome, Token, afan_out, fan_out
    from graph_agent.runtime.graph import BACK, Graph, Node, Pause, Question, Route
    from graph_agent.runtime.run import arun_graph, run_graph, stream
    from graph_agent.runtime.schema import json_schema
    from graph_agent.runtime.state import GraphState, appended, described
    from graph_agent.tools.fake import FakeTools
    from graph_agent.tools.toolbox import Toolbox

_MODULES = {
    "llm.ask": "aask ask",
    "llm.chat": "ChatLLM",
    "llm.fake": "FakeLLM",
    "llm.offline": "MutationLLM",
    "llm.record": "RecordingLLM ReplayLLM",
    "protocols": "LLM Context ContextError GraphAgentError LLMError Reply Request Tool ToolCall ToolDenied ToolError "
    "ToolResult Tools",
    "runtime.advance": "advance apply_patch",
    "runtime.answer": "answer pause_id question",
    "runtime.check": "check_graph",
    "runtime.checkpoint": "load_checkpoint save_checkpoint",
    "runtime.codec": "decode encode",
    "runtime.errors": "AnswerError CheckpointAbsent CheckpointCorrupt CheckpointError CodecError GraphError LimitReached "
    "NodeError PatchError RouteError RunError StateError StepLimitReached",
    "runtime.events": "Event trace_line",
    "runtime.fanout": "Outcome Token afan_out fan_out",
    "runtime.graph": "BACK Graph Node Pause Question Route",
    "runtime.run": "arun_graph run_graph stream",
    "runtime.schema": "json_schema",
    "runtime.state": "GraphState appended described",
    "tools.fake": "FakeTools",
    "tools.toolbox": "Toolbox",
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}

__version__ = "0.1.0"
__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
