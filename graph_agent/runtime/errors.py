"""The errors of the runtime: one small family, each with the facts a program needs and a sentence for a person.

What went wrong during a run carries `state`, the last state that holds (its turns counted), so nothing is lost: mend
the cause and hand that state back to `run_graph`. A signal that must not be caught by a node is not here: it is no
`Exception` (see `limits.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph_agent.protocols import ContextError, GraphAgentError, ToolDenied, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AnswerError",
    "ArgumentError",
    "CheckpointAbsent",
    "CheckpointCorrupt",
    "CheckpointError",
    "CodecError",
    "ContextError",
    "GraphAgentError",
    "GraphError",
    "LimitReached",
    "NodeError",
    "PatchError",
    "RouteError",
    "RunError",
    "StateError",
    "StepLimitReached",
    "ToolDenied",
    "ToolError",
    "nearest",
]


class ArgumentError(GraphAgentError, ValueError):
    """An argument that no run could use: a negative number of turns, say."""


class GraphError(GraphAgentError):
    """A table that cannot work. `problems` has all of them, one sentence each."""

    def __init__(self, name: str, problems: tuple[str, ...]) -> None:
        listed = "".join(f"\n  {number}. {problem}" for number, problem in enumerate(problems, 1))
        super().__init__(f"the graph of {name} has {len(problems)} problem{'s' * (len(problems) > 1)}:{listed}")
        self.problems = problems


class CodecError(GraphAgentError, ValueError):
    """Data that does not fit its type, or text that is not the JSON we accept. `path` says where."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path, self.message = path, message


class CheckpointError(GraphAgentError):
    """A checkpoint could not be written or used."""


class CheckpointAbsent(CheckpointError):
    """There is no file of that name."""


class CheckpointCorrupt(CheckpointError):
    """There is a file, and it is not a whole checkpoint."""


class RunError(GraphAgentError):
    """Something went wrong while a graph ran. `state` is the last state that holds; `stage` is where."""

    def __init__(self, message: str, *, state: Any, stage: Any = None) -> None:
        super().__init__(message)
        self.state = state
        self.stage = getattr(state, "stage", None) if stage is None else stage


class StateError(RunError, ValueError):
    """The state handed to a run does not fit the graph: a field of the wrong type, an unusable limit."""


class PatchError(RunError):
    """A node returned something it may not: not a patch, a field of another owner, a value of the wrong type.

    `field` is the first field at fault, or None when the whole patch is. Nothing of the patch was applied.
    """

    def __init__(self, message: str, *, state: Any, field: str | None = None) -> None:
        super().__init__(message, state=state)
        self.field = field


class AnswerError(PatchError):
    """A person's answer that cannot be taken: nothing is asked, it is late, or it is not among the choices."""


class RouteError(RunError):
    """A router failed, or named a stage that its node does not declare. The node's patch was not applied."""


class NodeError(RunError):
    """A node raised, its retries are used up, and the graph has no `on_error`. `error` is what it raised."""

    def __init__(self, message: str, *, state: Any, error: Exception) -> None:
        super().__init__(message, state=state)
        self.error = error


class LimitReached(RunError):
    """The turns are spent and the graph has no `on_limit`. Raise `max_turns` on `state` to go on."""


class StepLimitReached(RunError):
    """This call made `max_steps` visits. Hand `state` back to `run_graph` to go on."""


def nearest(name: object, names: Iterable[str]) -> str:
    """A clause that names the closest valid name, or "" when none is close: ", did you mean 'answer'?"."""
    from difflib import get_close_matches  # only an error pays for it

    close = get_close_matches(str(name), sorted(names), n=1)
    return f", did you mean {close[0]!r}?" if close else ""
