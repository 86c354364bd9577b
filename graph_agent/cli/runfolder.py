"""The folder of one run: the private copy that is worked on, the pristine one, and the record of what happened."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

from graph_agent.cli.exits import UsageError
from graph_agent.protocols import Json, ToolError
from graph_agent.runtime.checkpoint import save_checkpoint
from graph_agent.runtime.codec import encode
from graph_agent.runtime.events import Event
from graph_agent.runtime.jsontext import dumps
from graph_agent.runtime.typecheck import hints
from graph_agent.tools.copying import LeftBehind, copy_workspace
from graph_agent.tools.paths import WorkspaceError


class RunFolder:
    """`workspace/` is worked on, `original/` is what it was; `trace.jsonl` has a line a step, `state.json` the end."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder, self.source = folder, source
        self.workspace, self.original = folder / "workspace", folder / "original"
        self.left_behind: tuple[LeftBehind, ...] = ()

    def fill(self) -> None:
        """Make the two copies. Raises `UsageError` for a workspace that can't be copied."""
        try:
            self.left_behind = copy_workspace(self.source, self.workspace)
            copy_workspace(self.source, self.original)
        except (WorkspaceError, ToolError) as error:
            rmtree(self.folder, ignore_errors=True)
            raise UsageError(f"{self.source} can't be copied: {error}") from error

    def write(self, event: Event) -> None:
        """Add a step to the trace."""
        types = hints(type(event.state))
        patch = {name: encode(value, types[name]) for name, value in (event.patch or {}).items()}
        line: dict[str, Json] = {
            "kind": event.kind,
            "step": event.step,
            "stage": event.stage,
            "to": event.to,
            "reason": event.reason,
            "patch": patch,
            "turns": event.turns,
            "seconds": round(event.seconds, 3),
        }
        with (self.folder / "trace.jsonl").open("a", encoding="utf-8", newline="\n") as file:
            file.write(dumps(line) + "\n")

    def keep(self, state: object, diff: str) -> None:
        """Write the state in which the run stopped, and the patch where there is one."""
        save_checkpoint(state, self.folder / "state.json")
        if diff:
            (self.folder / "patch.diff").write_bytes(diff.encode("utf-8", "surrogateescape"))
