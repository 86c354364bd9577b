"""The tools of an agent that works on files: list, read, search, diff, edit, restore; all below one folder.

Every path goes through the one resolver in `paths.py`, and only `edit_file` and `restore_file` write: files that match
a `writable` pattern and no `protected` one, by any name that a link inside gives them. The rule: a call does the whole
of what it was asked or raises ToolError, and no message holds a path of the machine. This confines what these tools do;
it is no sandbox, and what a command does is the business of its isolation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from graph_agent.protocols import Effect, ToolError
from graph_agent.runtime.errors import nearest
from graph_agent.tools import files
from graph_agent.tools.changing import Base, Wish, wanted
from graph_agent.tools.difftext import Version, file_diff
from graph_agent.tools.files import FileInfo, check_plain, read_bytes, sha256
from graph_agent.tools.paths import Place, Root, checked_patterns, matches, matching, quoted, relative_parts
from graph_agent.tools.search import Found, search_files
from graph_agent.tools.textedit import TextEdit
from graph_agent.tools.textread import FileText, read_text
from graph_agent.tools.toolbox import FunctionTool
from graph_agent.tools.tree import links_inside, plain_files, walk


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a workspace gives at once. Beyond a limit is an error, or said in the answer."""

    entries: int = 20_000  # files and folders
    read_bytes: int = 200_000  # of one read_file
    file_bytes: int = 4_000_000  # of a file that is edited, restored, searched or compared line by line
    diff_characters: int = 2_000_000
    hits: int = 200
    search_seconds: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What a write came to: the SHA-256 before ("" for no file) and after. `already`: so it stood, nothing written."""

    path: str
    before: str
    after: str
    already: bool = False


class Workspace:
    """A folder, and the glob patterns of what may be changed in it; `protected` wins over `writable`.

    `baseline_root` is a pristine copy: what `diff` compares with, `restore_file` brings back and edits on "original"
    start from. The patterns are those of `paths.matches`; they are held against the real name of a file and, for
    `protected`, against each name that one link inside the workspace gives it.
    """

    def __init__(
        self,
        root: Path,
        *,
        writable: Collection[str] = (),
        protected: Collection[str] = (),
        baseline_root: Path | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Raises WorkspaceError when a root is no folder, PatternError for a pattern that is none."""
        self._root = Root(root)
        self._baseline = None if baseline_root is None else Root(baseline_root)
        self._writable, self._protected = checked_patterns(writable), checked_patterns(protected)
        self._limits = limits or Limits()
        self._made: dict[tuple[str, tuple[TextEdit, ...]], str] = {}  # file and edits: the hash they led to
        self._writing = Lock()

    def list_files(self) -> tuple[FileInfo, ...]:
        """List all files with their size and SHA-256, sorted by path."""
        return tuple(files.info(name, place) for name, place in self._plain(self._root))

    def unlisted(self) -> tuple[str, ...]:
        """What list_files does not show: links to folders, out of the workspace or to nothing; pipes and the like."""
        listed = {name for name, _ in self._plain(self._root)}
        found = walk(self._root.folder, limit=self._limits.entries)
        return tuple(sorted(entry.path for entry in found if entry.kind != "folder" and entry.path not in listed))

    def read_file(self, path: str, start: int = 1, lines: int | None = None) -> FileText:
        """Read a text file, or `lines` lines of it from line `start` on."""
        return read_text(self._existing(path), start, lines, self._limits.read_bytes)

    def search(self, text: str, *, glob: str = "**", regex: bool = False) -> Found:
        """Find the lines that hold a text, or match a regular expression, in the files that match a glob pattern.

        The name of a folder stands for all that lies below it.
        Raises ToolError: bad_pattern, timeout, not_found (no file matches), bad_path, outside_workspace.
        """
        pattern = "/".join(relative_parts(glob)) or "**"
        found = walk(self._root.folder, limit=self._limits.entries)
        names = {entry.path: entry.place for entry in found if entry.kind == "file"}
        places = [names[name] for name in sorted(names) if matches(name, (pattern, f"{pattern}/**"))]
        if not places:
            hint = "A pattern is one like src/**/*.py, or *.py for all folders."
            raise ToolError("not_found", f"No file matches {quoted(glob)}.", hint=hint)
        limits = self._limits
        return search_files(
            places, text, regex=regex, limit=limits.hits, max_size=limits.file_bytes, seconds=limits.search_seconds
        )

    def diff(self) -> str:
        """Show what differs from the original workspace, as a unified diff that git can apply; empty for nothing."""
        old, new = self._versions(self._original()), self._versions(self._root)
        parts = [self._file_diff(name, old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys())]
        text = "".join(parts)
        if len(text) > self._limits.diff_characters:
            message = f"The diff has {len(text)} characters, more than the {self._limits.diff_characters} allowed."
            raise ToolError("too_large", message, hint="Look at the files one by one.")
        return text

    def edit_file(
        self, path: str, edits: tuple[TextEdit, ...], on: Base = "current", before: str = "", after: str = ""
    ) -> Changed:
        """Replace text that occurs exactly once in a file; all edits or none. A repeated call changes nothing more.

        On "original" the edits start from the original file, whatever it holds now. `before` and `after` are the
        SHA-256 that the file is expected to have: one that has neither is not written (changed_meanwhile).
        """
        place = self._for_writing(path)
        with self._writing:
            current, original = self._bytes(place), self._original_bytes(place.name)
            if current is None and on == "current":
                raise self._not_found(place.name)
            made = self._made.get((place.name, tuple(edits)), "")
            if not before and current is not None and made == sha256(current):
                after = after or made
            wish = Wish(name=place.name, edits=edits, on=on, before=before, after=after)
            changed = self._put(place, current, wanted(wish, current, original))
            self._made[place.name, tuple(edits)] = changed.after
            return changed

    def restore_file(self, path: str) -> Changed:
        """Give a file the content that it has in the original workspace."""
        place = self._for_writing(path)
        self._original()
        with self._writing:
            original = self._original_bytes(place.name)
            if original is None:
                raise ToolError("not_found", f"{quoted(place.name)} is not in the original workspace.")
            return self._put(place, self._bytes(place), original)

    def check_writable(self, path: str) -> str:
        """The real name of a file that may be changed. Raises the ToolError that an edit of it would."""
        return self._for_writing(path).name

    def tools(self) -> tuple[FunctionTool, ...]:
        """The six as tools for a Toolbox. `list_files` costs no turn."""
        read: tuple[Callable[..., Any], ...] = (self.read_file, self.search, self.diff)
        return (
            FunctionTool(self.list_files, metered=False),
            *(FunctionTool(function) for function in read),
            *(FunctionTool(function, effect=_WRITE) for function in (self.edit_file, self.restore_file)),
        )

    def _plain(self, root: Root) -> list[tuple[str, Place]]:
        return plain_files(root, limit=self._limits.entries)

    def _existing(self, path: str) -> Place:
        place = self._root.resolve(path)
        if place.status is None:
            raise self._not_found(place.name)
        return place

    def _not_found(self, name: str) -> ToolError:
        known = [name for name, _ in self._plain(self._root)]
        return ToolError("not_found", f"There is no file {quoted(name)} in the workspace{nearest(name, known) or '.'}")

    def _for_writing(self, path: str) -> Place:
        place = self._root.resolve(path)
        for name in self._names(place.name):
            pattern = matching(name, self._protected)
            if pattern is not None:
                message = f"{quoted(name)} is protected by the pattern {quoted(pattern)} and stays as it is."
                raise ToolError("protected", message, hint=self._writable_hint())
        if not matches(place.name, self._writable):
            message = f"{quoted(place.name)} is not among the files that may be changed."
            raise ToolError("not_allowed", message, hint=self._writable_hint())
        if place.status is not None:
            check_plain(place)
        return place

    def _names(self, name: str) -> list[str]:
        """A file's real name, and what it is called through one link of the workspace."""
        names = [name]
        for link, behind in links_inside(self._root, limit=self._limits.entries):
            if behind in ("", name) or name.startswith(f"{behind}/"):
                rest = name[len(behind) :].lstrip("/")
                names.append(f"{link}/{rest}" if rest else link)
        return names

    def _writable_hint(self) -> str:
        return f"May be changed: {_listed(self._writable)}."

    def _original(self) -> Root:
        if self._baseline is None:
            raise ToolError("no_original", "This workspace has no original to compare with or go back to.")
        return self._baseline

    def _original_bytes(self, name: str) -> bytes | None:
        return None if self._baseline is None else self._bytes(self._baseline.resolve(name))

    def _bytes(self, place: Place) -> bytes | None:
        return None if place.status is None else read_bytes(place, self._limits.file_bytes)

    def _put(self, place: Place, current: bytes | None, raw: bytes) -> Changed:
        already = raw == current
        if not already:
            with files.said(place.name, "written"):
                place.file.parent.mkdir(parents=True, exist_ok=True)
            files.replace(place, raw, self._mode(place))
        before = "" if current is None else sha256(current)
        return Changed(path=place.name, before=before, after=sha256(raw), already=already)

    def _mode(self, place: Place) -> int:
        status = place.status or self._original().resolve(place.name).status
        return 0o644 if status is None else status.st_mode

    def _versions(self, root: Root) -> dict[str, Place]:
        found = walk(root.folder, limit=self._limits.entries)
        return {entry.path: entry.place for entry in found if entry.kind == "file"}

    def _file_diff(self, name: str, old: Place | None, new: Place | None) -> str:
        if old and new and files.info(name, old).sha256 == files.info(name, new).sha256:
            return ""
        return file_diff(name, self._version(old), self._version(new))

    def _version(self, place: Place | None) -> Version | None:
        if place is None:
            return None
        status = check_plain(place)
        raw = read_bytes(place, self._limits.file_bytes) if status.st_size <= self._limits.file_bytes else None
        return Version(raw=raw, mode=status.st_mode)


_WRITE: Effect = "write"


def _listed(patterns: Sequence[str]) -> str:
    shown = ", ".join(quoted(pattern) for pattern in patterns[:10])
    return (f"{shown} and {len(patterns) - 10} more" if len(patterns) > 10 else shown) or "nothing"
