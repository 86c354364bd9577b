"""A graph runtime for agents, written by hand on the standard library alone.

The names below are looked up when first used, so that `import graph_agent` costs next to nothing. Read
`runtime/run.py` for the loop, then `workflows/repair/graph.py` for a table that does real work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # ruff: isort: off
    from graph_agent.llm.ask import aask as aask, ask as ask
    from graph_agent.llm.chat import ChatLLM as ChatLLM
    from graph_agent.llm.fake import FakeLLM as FakeLLM
    from graph_agent.llm.offline import MutationLLM as MutationLLM
    from graph_agent.llm.record import RecordingLLM as RecordingLLM, ReplayLLM as ReplayLLM
    from graph_agent.protocols import (
        Context as Context,
        ContextError as ContextError,
        GraphAgentError as GraphAgentError,
        LLM as LLM,
        LLMError as LLMError,
        Reply as Reply,
        Request as Request,
        Tool as Tool,
        ToolCall as ToolCall,
        ToolDenied as ToolDenied,
        ToolError as ToolError,
        ToolResult as ToolResult,
        Tools as Tools,
    )
    from graph_agent.runtime.advance import advance as advance, apply_patch as apply_patch
    from graph_agent.runtime.answer import answer as answer, pause_id as pause_id, question as question
    from graph_agent.runtime.check import check_graph as check_graph
    from graph_agent.runtime.checkpoint import load_checkpoint as load_checkpoint, save_checkpoint as save_checkpoint
    from graph_agent.runtime.codec import decode as decode, encode as encode, json_schema as json_schema
    from graph_agent.runtime.errors import (
        AnswerError as AnswerError,
        ArgumentError as ArgumentError,
        BlobError as BlobError,
        CheckpointAbsent as CheckpointAbsent,
        CheckpointCorrupt as CheckpointCorrupt,
        CheckpointError as CheckpointError,
        CodecError as CodecError,
        GraphError as GraphError,
        InDoubt as InDoubt,
        JournalCorrupt as JournalCorrupt,
        JournalError as JournalError,
        LimitReached as LimitReached,
        NodeError as NodeError,
        PatchError as PatchError,
        PlanError as PlanError,
        RouteError as RouteError,
        RunAbsent as RunAbsent,
        RunBusy as RunBusy,
        RunError as RunError,
        RunMisfit as RunMisfit,
        StateError as StateError,
        StepLimitReached as StepLimitReached,
    )
    from graph_agent.runtime.compat import migration as migration
    from graph_agent.runtime.events import Event as Event, trace_line as trace_line
    from graph_agent.runtime.fanout import Outcome as Outcome, Token as Token, afan_out as afan_out, fan_out as fan_out
    from graph_agent.runtime.forks import compact as compact, fork as fork
    from graph_agent.runtime.graph import (
        BACK as BACK,
        Graph as Graph,
        Look as Look,
        Node as Node,
        Pause as Pause,
        Question as Question,
        Route as Route,
        Seen as Seen,
    )
    from graph_agent.runtime.journal import Run as Run
    from graph_agent.runtime.reading import read_run as read_run
    from graph_agent.runtime.resume import aresume as aresume, resume as resume, settle as settle
    from graph_agent.runtime.run import arun_graph as arun_graph, run_graph as run_graph, stream as stream
    from graph_agent.runtime.state import GraphState as GraphState, appended as appended, described as described
    from graph_agent.tools.fake import FakeTools as FakeTools
    from graph_agent.runtime.dag import layers as layers
    from graph_agent.runtime.texts import Texts as Texts
    from graph_agent.tools.toolbox import Toolbox as Toolbox
    from graph_agent.workflows.research.offline import ExtractiveLLM as ExtractiveLLM

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
    "runtime.compat": "migration",
    "runtime.errors": "AnswerError ArgumentError BlobError CheckpointAbsent CheckpointCorrupt CheckpointError "
    "CodecError GraphError InDoubt JournalCorrupt JournalError LimitReached NodeError PatchError PlanError RouteError "
    "RunAbsent RunBusy RunError RunMisfit StateError StepLimitReached",
    "runtime.events": "Event trace_line",
    "runtime.fanout": "Outcome Token afan_out fan_out",
    "runtime.forks": "compact fork",
    "runtime.graph": "BACK Graph Look Node Pause Question Route Seen",
    "runtime.journal": "Run",
    "runtime.reading": "read_run",
    "runtime.resume": "aresume resume settle",
    "runtime.run": "arun_graph run_graph stream",
    "runtime.state": "GraphState appended described",
    "tools.fake": "FakeTools",
    "runtime.dag": "layers",
    "runtime.texts": "Texts",
    "tools.toolbox": "Toolbox",
    "workflows.research.offline": "ExtractiveLLM",
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
    return sorted({*globals(), *__all__})
