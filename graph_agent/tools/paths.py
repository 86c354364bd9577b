"""Where a path leads: the one resolver that every tool asks, and the one rule for glob patterns.

A path from a model or a person is text that may say anything, so it is taken apart, followed through every link and
compared with the directory entries before anything is opened. The rule: what comes out lies inside the root, is spelled
as on disk, and holds no link; and a refusal never tells whether something outside exists. It is no sandbox: a process
that puts a link in place of a folder between the look and the opening is not kept out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from unicodedata import normalize

from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.runtime.textual import is_unicode

IS_WINDOWS = os.name == "nt"
MAX_PATH = 4096  # PATH_MAX of Linux; no system we run on opens a longer one
MAX_LINKS = 40  # links followed on one path before it counts as a loop, as in Linux
UNTOUCHED = frozenset(
    {".git", "__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache"}
    | {".venv", "node_modules", ".tox", ".nox"}
)
"""Version control, what test tools write, what is installed: neither listed, read, searched, edited nor copied."""

_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


class PatternError(GraphAgentError, ValueError):
    """A glob pattern that could match nothing, or whose meaning is not plain."""


class WorkspaceError(GraphAgentError):
    """A workspace that cannot be used at all: no folder, or a copy that would overwrite something."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a path led. `name` is posix, relative to the root and free of links; `status` is None where nothing is."""

    name: str
    file: Path
    status: os.stat_result | None


class Root:
    """A folder that no path leaves. A root that is itself a link is resolved once, here."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        if not self.folder.is_dir():
            raise WorkspaceError(f"the workspace {folder.name!r} is no folder. Give the path of an existing one.")

    def resolve(self, path: str) -> Place:
        """Follow `path` from the root. Raises ToolError: bad_path, outside_workspace or protected."""
        parts = relative_parts(path)
        for _ in range(MAX_LINKS):
            place = self._follow(parts, path)
            if isinstance(place, Place):
                return place
            parts = place
        raise ToolError("bad_path", f"{quoted(path)} runs through a loop of links.")

    def name_of(self, file: str) -> str | None:
        """The posix name of an absolute path below the root ("" for the root), None when it lies outside."""
        try:
            return "/".join(Path(file).relative_to(self.folder).parts)
        except ValueError:
            return None

    def _follow(self, parts: tuple[str, ...], path: str) -> Place | tuple[str, ...]:
        """The place, or, where a link is met, the parts of the path behind it."""
        here, status = self.folder, os.lstat(self.folder)
        for index, part in enumerate(parts):
            _check_untouched(part, path)
            entry = here / part
            found = _lstat(entry) if stat.S_ISDIR(status.st_mode) else None
            if found is None:
                return Place(name="/".join(parts), file=here.joinpath(*parts[index:]), status=None)
            if is_link(found):
                behind = self.name_of(os.path.realpath(entry))
                if behind is None:
                    raise _outside(path)
                return (*(part for part in behind.split("/") if part), *parts[index + 1 :])
            _check_spelling(here, part, path)
            here, status = entry, found
        return Place(name="/".join(parts), file=here, status=status)


def relative_parts(path: str) -> tuple[str, ...]:
    """The components of a relative posix path, "." and ".." worked out. Raises ToolError: bad_path, outside_workspace.

    The same text is refused on every system, so that a run does not depend on where it runs: a backslash and a drive
    letter are no part of a name here. `~` is an ordinary name.
    """
    _check_text(path)
    if path.startswith("/") or _DRIVE.match(path):
        raise _outside(path)
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                raise _outside(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def is_link(status: os.stat_result) -> bool:
    """Whether an entry leads elsewhere: a symbolic link, or a junction of Windows."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(status.st_mode) or (junction is not None and getattr(status, "st_reparse_tag", 0) == junction)


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a posix path matches one of the glob patterns.

    `*` stands for any characters within a component, `?` for one, `**` for any number of components, none included
    (at the end: at least one). A pattern without a slash is matched against the base name, at any depth. A slash at
    the end means all that lies below. Everything else is literal, brackets too. Case counts; Unicode spellings of the
    same text are equal. The time is bounded by the product of the lengths, whatever the pattern.
    """
    return matching(path, patterns) is not None


def matching(path: str, patterns: Iterable[str]) -> str | None:
    """The first of the patterns that matches, None if none does. `matches` has the rule."""
    spelled = normalize("NFC", path)
    return next((pattern for pattern in _several(patterns) if _compiled(pattern).fullmatch(spelled)), None)


def checked_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    """The patterns, each known to be usable. Raises PatternError."""
    checked = tuple(_several(patterns))
    for pattern in checked:
        _compiled(pattern)
    return checked


def quoted(text: str, limit: int = 80) -> str:
    """A caller's text, fit for a message: one line, bounded, in quotes."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def _several(patterns: Iterable[str]) -> Iterable[str]:
    if isinstance(patterns, str):
        raise PatternError(f"patterns are a collection: write ({patterns!r},) instead of {patterns!r}")
    return patterns


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    spelled = normalize("NFC", pattern).removeprefix("./")
    if spelled.endswith("/"):
        spelled += "**"
    parts = spelled.split("/")
    if "" in parts or ".." in parts or "." in parts or "\\" in spelled or "\0" in spelled:
        raise PatternError(
            f"the pattern {quoted(pattern)} is not one: patterns are relative to the workspace, with / between names, "
            "such as 'src/**/*.py' or 'conftest.py'"
        )
    if len(parts) == 1 and spelled != "**":
        parts = ["**", *parts]
    return re.compile(_path_regex(parts), re.DOTALL)


def _path_regex(parts: Sequence[str]) -> str:
    """Runs of components between `**`. Each run but the last is atomic: its first place is as good as any other."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part != "**":
            runs[-1].append(_part_regex(part))
        elif runs[-1] or len(runs) == 1:
            runs.append([])
    first, *rest = ("/".join(run) for run in runs)
    if not rest:
        return first
    regex = f"{first}/" if first else ""
    for run in rest[:-1]:
        regex += f"(?>(?:[^/]+/)*?{run}/)"
    return regex + (f"(?:[^/]+/)*{rest[-1]}" if rest[-1] else ".+")


def _part_regex(part: str) -> str:
    first, *rest = ("".join("[^/]" if char == "?" else re.escape(char) for char in run) for run in part.split("*"))
    if not rest:
        return first
    return first + "".join(f"(?>[^/]*?{run})" for run in rest[:-1] if run) + f"[^/]*{rest[-1]}"


def _check_text(path: str) -> None:
    found = ""
    if not path or len(path) > MAX_PATH:
        found = "is empty" if not path else f"is longer than {MAX_PATH} characters"
    elif "\0" in path or not is_unicode(path):
        found = "holds a character that no file name may hold"
    elif "\\" in path:
        found = "holds a backslash; write / between the names"
    elif IS_WINDOWS and any(_odd_on_windows(part) for part in path.split("/")):
        found = "is a name with a meaning of its own on Windows"
    if found:
        raise ToolError("bad_path", f"The path {quoted(path)} {found}.", hint="Take a path that list_files gave.")


def _odd_on_windows(part: str) -> bool:
    ends_oddly = part not in ("", ".", "..") and part[-1] in ". "
    return ends_oddly or ":" in part[2:] or _DEVICE.fullmatch(part.strip()) is not None


def _outside(path: str) -> ToolError:
    return ToolError(
        "outside_workspace",
        f"The path {quoted(path)} leads out of the workspace.",
        hint="Give a path relative to its root, one that list_files gave.",
    )


def _check_untouched(part: str, path: str) -> None:
    if part in UNTOUCHED:
        raise ToolError("protected", f"{quoted(path)} lies in {part}, which no tool touches.")


def _check_spelling(folder: Path, part: str, path: str) -> None:
    """A file system that takes `Tests` for `tests` would let a path slip past a pattern."""
    try:
        entries = [entry.name for entry in folder.iterdir()]
    except OSError as error:
        raise ToolError("io_error", f"The folder of {quoted(path)} cannot be listed: {error.strerror}.") from error
    if part not in entries:
        alike = [entry for entry in entries if _folded(entry) == _folded(part)]
        hint = f"On disk it is spelled {quoted(alike[0])}." if alike else "Take a path that list_files gave."
        raise ToolError("bad_path", f"{quoted(part)} in {quoted(path)} is spelled otherwise on disk.", hint=hint)


def _folded(name: str) -> str:
    return normalize("NFC", name).casefold()


def _lstat(file: Path) -> os.stat_result | None:
    try:
        return os.lstat(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError("bad_path", f"{quoted(file.name)} cannot be looked at: {error.strerror}.") from error
