"""The errors of the runtime: each has the facts a program needs and a sentence for a person.

What went wrong during a run carries `state`, the last state that holds (its turns counted): mend the cause and hand
that state back to `run_graph`. The signal that a node must not catch is no `Exception`: see `limits.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph_agent.protocols import GraphAgentError

if TYPE_CHECKING:
    from collections.abc import Iterable


class ArgumentError(GraphAgentError, ValueError):
    """An argument that no run could use."""


class GraphError(GraphAgentError):
    """A table that cannot work; `problems` says why, one sentence each."""

    def __init__(self, name: str, problems: tuple[str, ...]) -> None:
        listed = "".join(f"\n  {number}. {problem}" for number, problem in enumerate(problems, 1))
        super().__init__(f"the graph of {name} has {len(problems)} problem{'s' * (len(problems) > 1)}:{listed}")
        self.problems = problems


class PlanError(GraphAgentError, ValueError):
    """Steps that can't be carried out; `problems` says why, one sentence each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class CodecError(GraphAgentError, ValueError):
    """Data that does not fit its type, or text that is not JSON; `path` says where."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path, self.message = path, message


class CheckpointError(GraphAgentError):
    """A checkpoint could not be written or used."""


class CheckpointAbsent(CheckpointError):
    """There is no such file."""


class CheckpointCorrupt(CheckpointError):
    """The file is no whole checkpoint."""


class JournalError(GraphAgentError):
    """A journal could not be written or used."""


class JournalCorrupt(JournalError):
    """A journal is damaged where no crash of its writer could have damaged it. `line` counts from 1."""

    def __init__(self, message: str, *, line: int) -> None:
        super().__init__(message)
        self.line = line


class RunAbsent(JournalError):
    """There is no run of that name."""


class RunBusy(JournalError):
    """Another process, or another part of this one, works on the run."""


class RunMisfit(JournalError):
    """What the code says no longer fits what the journal says. `differences` has each, one sentence."""

    def __init__(self, message: str, differences: tuple[str, ...]) -> None:
        super().__init__(message)
        self.differences = differences


class InDoubt(JournalError):
    """A node with effects was interrupted, and nothing says whether they happened. `stage` and `key` are its own."""

    def __init__(self, message: str, *, stage: str, key: str) -> None:
        super().__init__(message)
        self.stage, self.key = stage, key


class BlobError(JournalError):
    """A blob is gone, or is not what it was."""


class RunError(GraphAgentError):
    """Something went wrong in a run. `state` is the last state that holds; `stage` is where."""

    def __init__(self, message: str, *, state: Any, stage: Any = None) -> None:
        super().__init__(message)
        self.state = state
        self.stage = getattr(state, "stage", None) if stage is None else stage


class StateError(RunError, ValueError):
    """The state handed to a run does not fit the graph."""


class PatchError(RunError):
    """A node returned no patch, or wrote another's field or a wrong type. Nothing of the patch was applied.

    `field` is the first field at fault, or None when the whole patch is.
    """

    def __init__(self, message: str, *, state: Any, field: str | None = None) -> None:
        super().__init__(message, state=state)
        self.field = field


class AnswerError(PatchError):
    """A person's answer that is not asked for, late, or not among the choices."""


class RouteError(RunError):
    """A router failed, or named an undeclared stage. The node's patch was not applied."""


class NodeError(RunError):
    """A node raised `error`, has no retries left, and the graph has no `on_error`."""

    def __init__(self, message: str, *, state: Any, error: Exception) -> None:
        super().__init__(message, state=state)
        self.error = error


class LimitReached(RunError):
    """The turns are spent and the graph has no `on_limit`: raise `max_turns` on `state` to go on."""


class StepLimitReached(RunError):
    """This call made `max_steps` visits: hand `state` back to `run_graph` to go on."""


def nearest(name: object, names: Iterable[str]) -> str:
    """A clause with the closest valid name (", did you mean 'answer'?"), or "" when none is close."""
    from difflib import get_close_matches  # only an error pays for it

    close = get_close_matches(str(name), sorted(names), n=1)
    return f", did you mean {close[0]!r}?" if close else ""
