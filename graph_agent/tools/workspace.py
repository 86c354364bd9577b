"""The tools of an agent that works on files: list, read, search, diff, edit, restore; all below one folder.

The rule: a call does the whole of what it was asked or raises ToolError, and no message holds a path of the machine.
This confines what these tools do, not what a command does, and is no sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias

from graph_agent.protocols import ToolError
from graph_agent.runtime.errors import nearest
from graph_agent.tools import files
from graph_agent.tools.files import FileInfo, FileText, Found, read_bytes, search_files, sha256
from graph_agent.tools.paths import Place, Root, checked_patterns, matches, quoted, relative_parts
from graph_agent.tools.textedit import TextEdit, Version, edited_bytes, file_diff
from graph_agent.tools.toolbox import FunctionTool

Base: TypeAlias = Literal["current", "original"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Beyond a limit is an error, or said in the answer."""

    entries: int = 20_000
    read_bytes: int = 200_000  # at once
    file_bytes: int = 4_000_000  # of a file that is looked into
    diff_characters: int = 2_000_000
    hits: int = 200
    search_seconds: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Changed:
    """The SHA-256 before ("" for no file) and after a write. `already`: so it stood, nothing was written."""

    path: str
    before: str
    after: str
    already: bool = False


class Workspace:
    """A folder, and the glob patterns of what may be changed in it; `protected` wins over `writable`.

    `baseline_root` is the original: a pristine copy. Patterns (see `paths.matches`) are held against the real name of a
    file, `protected` ones also against each name that one link inside gives it.
    """

    def __init__(
        self,
        root: Path,
        *,
        writable: Collection[str] = (),
        protected: Collection[str] = (),
        baseline_root: Path | None = None,
        limits: Limits | None = None,
        keep: Callable[[bytes], object] | None = None,
    ) -> None:
        """`keep` is given what a file will hold before it is written. Raises WorkspaceError, PatternError."""
        self._root = Root(root)
        self._baseline = None if baseline_root is None else Root(baseline_root)
        self._writable, self._protected = checked_patterns(writable), checked_patterns(protected)
        self._limits = limits or Limits()
        self._keep = keep
        self._made: dict[tuple[str, tuple[TextEdit, ...]], str] = {}  # the hash edits led to
        self._writing = Lock()

    def list_files(self) -> tuple[FileInfo, ...]:
        """List all files with their size and SHA-256, sorted by path."""
        return tuple(files.info(*found) for found in files.plain_files(self._root, limit=self._limits.entries))

    def read_file(self, path: str, start: int = 1, lines: int | None = None) -> FileText:
        """Read a text file, or `lines` lines of it from line `start` on."""
        place = self._root.resolve(path)
        raw = self._bytes(place)
        if raw is None:
            raise self._not_found(place.name)
        return files.read_text(place, raw, start, lines, self._limits.read_bytes)

    def search(self, text: str, *, glob: str = "**", regex: bool = False) -> Found:
        """Find the lines that hold a text, or match a regular expression, in the files that match a glob pattern.

        The name of a folder stands for all that lies below it.
        """
        pattern = "/".join(relative_parts(glob)) or "**"
        found = self._found(self._root)
        places = [found[name] for name in sorted(found) if matches(name, (pattern, f"{pattern}/**"))]
        if not places:
            raise ToolError("not_found", f"No file matches {quoted(glob)}.", hint="Try one like src/**/*.py or *.py.")
        limits = self._limits
        return search_files(
            places, text, regex=regex, limit=limits.hits, max_size=limits.file_bytes, seconds=limits.search_seconds
        )

    def diff(self) -> str:
        """Show what differs from the original workspace, as a unified diff that git can apply; empty for nothing."""
        old, new = self._found(self._original()), self._found(self._root)
        text = "".join(self._file_diff(name, old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys()))
        if len(text) > self._limits.diff_characters:
            message = f"The diff has more than {self._limits.diff_characters} characters."
            raise ToolError("too_large", message, hint="Look at the files one by one.")
        return text

    def edit_file(self, path: str, edits: tuple[TextEdit, ...], on: Base = "current", before: str = "") -> Changed:
        """Replace text that occurs exactly once in a file; all edits or none. A repeated call changes nothing more.

        On "original" the edits start from the original file, whatever it holds now. A file that has another SHA-256
        than `before`, and not the edits either, is not written (changed_meanwhile).
        """
        place = self._for_writing(path)
        with self._writing:
            current = self._bytes(place)
            changed = self._put(place, current, self._wanted(place.name, tuple(edits), on, before, current))
            self._made[place.name, tuple(edits)] = changed.after
            return changed

    def restore_file(self, path: str, before: str = "") -> Changed:
        """Give a file the content that it has in the original workspace. A repeated call changes nothing more.

        A file that has another SHA-256 than `before`, and not the original's, is not written (changed_meanwhile).
        """
        place = self._for_writing(path)
        with self._writing:
            current, original = self._bytes(place), self._original_bytes(place.name)
            now = "" if current is None else sha256(current)
            if before not in ("", now) and current != original:
                hint = "Look at what stands there now before it is undone."
                raise ToolError("changed_meanwhile", f"{quoted(place.name)} is not what is to be undone.", hint=hint)
            return self._put(place, current, original)

    def tools(self) -> tuple[FunctionTool, ...]:
        return (
            FunctionTool(self.list_files, metered=False),
            FunctionTool(self.read_file),
            FunctionTool(self.search),
            FunctionTool(self.diff),
            FunctionTool(self.edit_file, effect="write"),
            FunctionTool(self.restore_file, effect="write"),
        )

    def _found(self, root: Root) -> dict[str, Place]:
        found = files.walk(root.folder, limit=self._limits.entries)
        return {place.name: place for place in found if place.kind == "file"}

    def _not_found(self, name: str) -> ToolError:
        close = nearest(name, self._found(self._root))
        return ToolError("not_found", f"There is no file {quoted(name)} in the workspace{close or '.'}")

    def _for_writing(self, path: str) -> Place:
        place = self._root.resolve(path)
        hint = f"May be changed: {', '.join(map(quoted, self._writable[:10])) or 'nothing'}."
        for name, pattern in product(self._names(place.name), self._protected):
            if matches(name, (pattern,)):
                raise ToolError("protected", f"{quoted(name)} is protected by {quoted(pattern)}.", hint=hint)
        if not matches(place.name, self._writable):
            raise ToolError("not_allowed", f"{quoted(place.name)} may not be changed.", hint=hint)
        return place

    def _names(self, name: str) -> list[str]:
        """A file's real name, and those through one link."""
        links = (place for place in files.walk(self._root.folder, limit=self._limits.entries) if place.kind == "link")
        pairs = ((link.name, files.behind(self._root, link).name) for link in links)
        return [name, *(link + name[len(real) :] for link, real in pairs if f"{name}/".startswith(f"{real}/"))]

    def _original(self) -> Root:
        if self._baseline is None:
            raise ToolError("no_original", "This workspace has no original.")
        return self._baseline

    def _original_bytes(self, name: str) -> bytes:
        raw = self._bytes(self._original().resolve(name))
        if raw is None:
            raise ToolError("not_found", f"{quoted(name)} is not in the original workspace.")
        return raw

    def _bytes(self, place: Place) -> bytes | None:
        return None if place.kind == "nothing" else read_bytes(place, self._limits.file_bytes)

    def _wanted(self, name: str, edits: tuple[TextEdit, ...], on: Base, before: str, current: bytes | None) -> bytes:
        now = "" if current is None else sha256(current)
        if on == "original":
            result = edited_bytes(self._original_bytes(name), edits, name)
            if before in ("", now) or result == current:
                return result
        elif current is None:
            raise self._not_found(name)
        elif self._made.get((name, edits)) == now != before or self._led_here(name, edits, before, current):
            return current
        elif before in ("", now):
            return edited_bytes(current, edits, name)
        hint = "Read it again and edit what stands there now."
        raise ToolError("changed_meanwhile", f"{quoted(name)} is not what the edits were made for.", hint=hint)

    def _led_here(self, name: str, edits: tuple[TextEdit, ...], before: str, current: bytes) -> bool:
        """Whether the edits, taken back, lead to where they started."""
        with suppress(ToolError):
            start = edited_bytes(current, [TextEdit(edit.new, edit.old) for edit in edits], name)
            return before == sha256(start) and edited_bytes(start, edits, name) == current
        return False

    def _put(self, place: Place, current: bytes | None, raw: bytes) -> Changed:
        already = raw == current
        if not already:
            status = place.status or self._original().resolve(place.name).status
            if self._keep is not None:
                self._keep(raw)
            with files.said(place.name, "written"):
                place.file.parent.mkdir(parents=True, exist_ok=True)
            files.replace(place, raw, 0o644 if status is None else status.st_mode)
        before = "" if current is None else sha256(current)
        return Changed(path=place.name, before=before, after=sha256(raw), already=already)

    def _file_diff(self, name: str, old: Place | None, new: Place | None) -> str:
        if old and new and files.info(name, old) == files.info(name, new):
            return ""
        return file_diff(name, self._version(old), self._version(new))

    def _version(self, place: Place | None) -> Version | None:
        if place is None or place.status is None:
            return None
        large = place.status.st_size > self._limits.file_bytes
        raw = None if large else read_bytes(place, self._limits.file_bytes)
        return Version(raw=raw, mode=place.status.st_mode)
