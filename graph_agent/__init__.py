"""A graph runtime for agents, written by hand on the standard library alone.

The names below are all that a user needs to build and run a graph. They are looked up when they are first used, so
that `import graph_agent` costs next to nothing; read `runtime/run.py` for the loop, then `workflows/repair/graph.py`
for a table that does real work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.llm.ask import aask as aask
    from graph_agent.llm.ask import ask as ask
    from graph_agent.llm.chat import ChatLLM as ChatLLM
    from graph_agent.llm.fake import FakeLLM as FakeLLM
    from graph_agent.llm.offline import MutationLLM as MutationLLM
    from graph_agent.llm.record import RecordingLLM as RecordingLLM
    from graph_agent.llm.record import ReplayLLM as ReplayLLM
    from graph_agent.protocols import (
        LLM as LLM,
    )
    from graph_agent.protocols import (
        Context as Context,
    )
    from graph_agent.protocols import (
        ContextError as ContextError,
    )
    from graph_agent.protocols import (
        GraphAgentError as GraphAgentError,
    )
    from graph_agent.protocols import (
        LLMError as LLMError,
    )
    from graph_agent.protocols import (
        Reply as Reply,
    )
    from graph_agent.protocols import (
        Request as Request,
    )
    from graph_agent.protocols import (
        Tool as Tool,
    )
    from graph_agent.protocols import (
        ToolCall as ToolCall,
    )
    from graph_agent.protocols import (
        ToolDenied as ToolDenied,
    )
    from graph_agent.protocols import (
        ToolError as ToolError,
    )
    from graph_agent.protocols import (
        ToolResult as ToolResult,
    )
    from graph_agent.protocols import (
        Tools as Tools,
    )
    from graph_agent.runtime.advance import advance as advance
    from graph_agent.runtime.advance import apply_patch as apply_patch
    from graph_agent.runtime.answer import answer as answer
    from graph_agent.runtime.answer import pause_id as pause_id
    from graph_agent.runtime.answer import question as question
    from graph_agent.runtime.check import check_graph as check_graph
    from graph_agent.runtime.checkpoint import load_checkpoint as load_checkpoint
    from graph_agent.runtime.checkpoint import save_checkpoint as save_checkpoint
    from graph_agent.runtime.codec import decode as decode
    from graph_agent.runtime.codec import encode as encode
    from graph_agent.runtime.codec import json_schema as json_schema
    from graph_agent.runtime.errors import (
        AnswerError as AnswerError,
    )
    from graph_agent.runtime.errors import (
        ArgumentError as ArgumentError,
    )
    from graph_agent.runtime.errors import (
        CheckpointAbsent as CheckpointAbsent,
    )
    from graph_agent.runtime.errors import (
        CheckpointCorrupt as CheckpointCorrupt,
    )
    from graph_agent.runtime.errors import (
        CheckpointError as CheckpointError,
    )
    from graph_agent.runtime.errors import (
        CodecError as CodecError,
    )
    from graph_agent.runtime.errors import (
        GraphError as GraphError,
    )
    from graph_agent.runtime.errors import (
        LimitReached as LimitReached,
    )
    from graph_agent.runtime.errors import (
        NodeError as NodeError,
    )
    from graph_agent.runtime.errors import (
        PatchError as PatchError,
    )
    from graph_agent.runtime.errors import (
        RouteError as RouteError,
    )
    from graph_agent.runtime.errors import (
        RunError as RunError,
    )
    from graph_agent.runtime.errors import (
        StateError as StateError,
    )
    from graph_agent.runtime.errors import (
        StepLimitReached as StepLimitReached,
    )
    from graph_agent.runtime.events import Event as Event
    from graph_agent.runtime.events import trace_line as trace_line
    from graph_agent.runtime.fanout import Outcome as Outcome
    from graph_agent.runtime.fanout import Token as Token
    from graph_agent.runtime.fanout import afan_out as afan_out
    from graph_agent.runtime.fanout import fan_out as fan_out
    from graph_agent.runtime.graph import (
        BACK as BACK,
    )
    from graph_agent.runtime.graph import (
        Graph as Graph,
    )
    from graph_agent.runtime.graph import (
        Node as Node,
    )
    from graph_agent.runtime.graph import (
        Pause as Pause,
    )
    from graph_agent.runtime.graph import (
        Question as Question,
    )
    from graph_agent.runtime.graph import (
        Route as Route,
    )
    from graph_agent.runtime.run import arun_graph as arun_graph
    from graph_agent.runtime.run import run_graph as run_graph
    from graph_agent.runtime.run import stream as stream
    from graph_agent.runtime.state import GraphState as GraphState
    from graph_agent.runtime.state import appended as appended
    from graph_agent.runtime.state import described as described
    from graph_agent.tools.fake import FakeTools as FakeTools
    from graph_agent.tools.toolbox import Toolbox as Toolbox

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
    "runtime.codec": "decode encode json_schema",
    "runtime.errors": "AnswerError ArgumentError CheckpointAbsent CheckpointCorrupt CheckpointError CodecError "
    "GraphError "
    "LimitReached NodeError PatchError RouteError RunError StateError StepLimitReached",
    "runtime.events": "Event trace_line",
    "runtime.fanout": "Outcome Token afan_out fan_out",
    "runtime.graph": "BACK Graph Node Pause Question Route",
    "runtime.run": "arun_graph run_graph stream",
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
