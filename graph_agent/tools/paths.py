"""Where a path leads: the one resolver that every tool asks, and the one rule for glob patterns.

The rule: what comes out lies inside the root, is spelled as on disk and holds no link, and no refusal tells whether
something outside exists. It is no sandbox: who swaps a folder for a link after the look is not kept out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias
from unicodedata import normalize

from graph_agent.protocols import GraphAgentError, ToolError
from graph_agent.runtime.jsontext import is_unicode

Kind: TypeAlias = Literal["file", "folder", "link", "special", "nothing"]
IS_WINDOWS = os.name == "nt"
UNTOUCHED = frozenset(
    {".git", "__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache"}
    | {".venv", "node_modules", ".tox", ".nox"}
)
"""Neither listed, read, searched, edited nor copied."""

_ODD_ON_WINDOWS = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|.*:.*|(?!\.\.?$).*[. ]", re.IGNORECASE)
_ADVICE = "Take a path that list_files gave, with / between the names."
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class PatternError(GraphAgentError, ValueError):
    """A glob pattern that cannot be used."""


class WorkspaceError(GraphAgentError):
    """A workspace that cannot be used at all."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a path led. `name` is posix and relative to the root; `status` is None where nothing is."""

    name: str
    file: Path
    status: os.stat_result | None

    @property
    def kind(self) -> Kind:
        return _KINDS.get(stat.S_IFMT(self.status.st_mode), "special") if self.status else "nothing"


class Root:
    """A folder that no path leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        if not self.folder.is_dir():
            raise WorkspaceError(f"the workspace {folder.name!r} is no folder. Give the path of an existing one.")

    def resolve(self, path: str) -> Place:
        """Raises ToolError: bad_path, outside_workspace, protected, io_error."""
        real = Path(os.path.realpath(self.folder.joinpath(*relative_parts(path))))
        if not real.is_relative_to(self.folder):
            raise _outside(path)
        parts, here, status = real.relative_to(self.folder).parts, self.folder, _status(self.folder)
        for part in parts:
            if part in UNTOUCHED:
                raise ToolError("protected", f"{quoted(path)} lies in {part}, which no tool touches.")
            status = status and _status(here / part)
            if status:
                _check_spelling(here, part, path)
            here /= part
        place = Place(name="/".join(parts), file=real, status=status)
        if place.kind == "link":
            raise ToolError("bad_path", f"{quoted(path)} runs through a loop of links.")
        return place


def relative_parts(path: str) -> tuple[str, ...]:
    """The components of a posix path, "." and ".." worked out. Raises ToolError: bad_path, outside_workspace.

    Backslashes and drive letters are refused on any system, so that a run does not depend on where it runs.
    """
    given = path.split("/")
    odd = IS_WINDOWS and any(_ODD_ON_WINDOWS.fullmatch(part) for part in given)
    if not path or len(path) > 4096 or "\0" in path or "\\" in path or not is_unicode(path) or odd:
        raise ToolError("bad_path", f"{quoted(path)} is no path of a file here.", hint=_ADVICE)
    if path.startswith("/") or re.match("[A-Za-z]:", path):
        raise _outside(path)
    parts: list[str] = []
    for part in given:
        if part == "..":
            if not parts:
                raise _outside(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a posix path matches one of the glob patterns.

    `*` stands for any characters within a component, `?` for one, `**` for any number of components (at the end: at
    least one). A pattern without a slash is held against the base name; one with a slash at the end means all below.
    All else is literal, brackets too. Case counts; Unicode spellings of the same text are equal.
    """
    parts = normalize("NFC", path).split("/")
    return any(_fits(parts, _components(pattern)) for pattern in checked_patterns(patterns))


def checked_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    """Raises PatternError."""
    if isinstance(patterns, str):
        raise PatternError(f"patterns are a collection: write ({patterns!r},) instead of {patterns!r}")
    checked = tuple(patterns)
    for pattern in checked:
        _components(pattern)
    return checked


def quoted(text: str, limit: int = 80) -> str:
    """A caller's text, fit for a message."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


@lru_cache(maxsize=1024)
def _components(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """None stands for `**`."""
    spelled = normalize("NFC", pattern).removeprefix("./")
    parts = (spelled + "**" if spelled.endswith("/") else spelled).split("/")
    if {"", ".", ".."}.intersection(parts) or "\\" in spelled or "\0" in spelled:
        raise PatternError(f"the pattern {quoted(pattern)} is not one: give one such as 'src/**/*.py'")
    if len(parts) == 1:
        parts.insert(0, "**")
    if parts[-1] == "**":
        parts.append("*")
    return tuple(None if part == "**" else re.compile(translate(part.replace("[", "[[]"))) for part in parts)


def _fits(parts: list[str], components: tuple[re.Pattern[str] | None, ...]) -> bool:
    ends = {0}  # how many parts may be used up so far
    for component in components:
        if component is None:
            ends = set(range(min(ends), len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and component.match(parts[end])}
        if not ends:
            return False
    return len(parts) in ends


def _outside(path: str) -> ToolError:
    return ToolError("outside_workspace", f"{quoted(path)} leads out of the workspace.", hint=_ADVICE)


def _check_spelling(folder: Path, part: str, path: str) -> None:
    """Where `Tests` is taken for `tests`, a path could slip past a pattern."""
    try:
        spelled = any(entry.name == part for entry in folder.iterdir())
    except OSError as error:
        raise ToolError("io_error", f"The folder of {quoted(path)} cannot be listed: {error.strerror}.") from error
    if not spelled:
        raise ToolError("bad_path", f"{quoted(part)} in {quoted(path)} is spelled otherwise on disk.", hint=_ADVICE)


def _status(file: Path) -> os.stat_result | None:
    try:
        return os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ToolError("bad_path", f"{quoted(file.name)} cannot be looked at: {error.strerror}.") from error
