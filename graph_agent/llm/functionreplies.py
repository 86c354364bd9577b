"""Whole functions in a reply, and what a model writes around them, turned into edits of the files.

A fence may hold several functions, a class with some of its methods, new helpers, imports, and an example of use.
What the file has already is dropped, what is new is put where it works, and the rule is: nothing else is lost silently.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from graph_agent.llm.functionedits import choose, homes, moved, replacement
from graph_agent.llm.functions import Function, FunctionNode, Source, bound_names, names_used, same_code
from graph_agent.llm.importedits import FunctionOrClass, ImportNode, import_changes
from graph_agent.llm.textedits import Change, Edit, EditError, edits_from_changes, line_end, with_line_ends
from graph_agent.runtime.errors import nearest


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One fence: its code, and the path that it names itself, or ""."""

    source: Source
    path: str


_Addition: TypeAlias = tuple[str, Source, ast.stmt]


@dataclass(kw_only=True)
class _Found:
    """What the pieces ask of one file, gathered before anything is decided."""

    functions: list[tuple[Function, Source, Function]] = field(default_factory=list)
    additions: list[_Addition] = field(default_factory=list)
    imports: list[ImportNode] = field(default_factory=list)


def function_edits(pieces: Iterable[Piece], files: Mapping[str, str]) -> tuple[Edit, ...]:
    """The edits that the pieces ask for.

    A docstring of a class, a stub with the body `...`, an example of use, and new code or imports that nothing in the
    answer uses are talk about the code, and left out. Raises `EditError` for what cannot be placed, and when nothing
    would change.
    """
    sources = _python(files)
    wanted: defaultdict[str, _Found] = defaultdict(_Found)
    rests = [(piece, *_gather(piece, sources, wanted)) for piece in pieces]
    for piece, home, rest in rests:
        path = home or (next(iter(wanted)) if len(wanted) == 1 else "")
        if path not in wanted:
            raise _nothing_to_replace(piece, sources)
        for owner, node in rest:
            _gather_addition(piece, owner, node, sources[path], wanted[path])
    edits: list[Edit] = []
    for path, found in sorted(wanted.items()):
        edits += edits_from_changes(path, files[path], _changes(path, sources[path], found))
    if not edits:
        listed = ", ".join(sorted({old.name for found in wanted.values() for old, _, _ in found.functions}))
        raise EditError("no_change", f"the answer changes nothing: {listed} stands in the file as it was written.")
    return tuple(edits)


def _python(files: Mapping[str, str]) -> dict[str, Source]:
    """The files that are Python; one that is broken is an error only when nothing else is left."""
    sources: dict[str, Source] = {}
    problem = EditError("no_files", f"there is no Python among {', '.join(files)}.")
    for path, text in files.items():
        if path.endswith((".py", ".pyi")):
            try:
                sources[path] = Source(path, text)
            except EditError as error:
                problem = error
    if not sources:
        raise problem
    return sources


def _gather(
    piece: Piece, sources: Mapping[str, Source], wanted: defaultdict[str, _Found]
) -> tuple[str, list[tuple[str, ast.stmt]]]:
    """Find the functions that a piece replaces. Returns the path they are in, and the statements that are left."""
    if piece.path and piece.path not in sources:
        raise EditError("does_not_parse", f"{piece.path} is not valid Python, so no function of it can be replaced.")
    among = {piece.path: sources[piece.path]} if piece.path else dict(sources)
    written = {id(function.node): function for function in piece.source.functions}
    home, rest = piece.path, []
    for owner, node in _statements(piece.source, among):
        new = written.get(id(node))
        pool = [(path, old) for path in among for old in homes(among[path], new, owner)] if new else []
        if new is None or not pool:
            rest.append((owner, node))
            continue
        path, old = choose(pool, owner + new.base, new)
        wanted[path].functions.append((old, piece.source, new))
        home = home or path
    return home, rest


def _statements(source: Source, among: Mapping[str, Source]) -> Iterator[tuple[str, ast.stmt]]:
    """The statements of a piece, each with the class it is written in; a class that is new is one statement."""
    for node in source.body:
        if isinstance(node, ast.ClassDef) and any(node.name in file.classes for file in among.values()):
            yield from ((f"{node.name}.", inner) for inner in node.body)
        else:
            yield "", node


def _gather_addition(piece: Piece, owner: str, node: ast.stmt, file: Source, found: _Found) -> None:
    body = file.classes[owner[:-1]].body if owner else file.body
    if isinstance(node, ImportNode) and not owner:
        found.imports.append(node)
    elif not _is_talk(node) and not any(same_code(node, other) for other in body):
        names = bound_names([node])
        if not isinstance(node, FunctionOrClass | ast.Assign | ast.AnnAssign) or names & bound_names(body):
            first = piece.source.text[slice(*piece.source.span(node))].strip().partition("\n")[0]
            hint = "Write only whole functions, new helpers and imports."
            raise EditError(
                "extra_code", f"{piece.source.where} has a statement that cannot be placed: {first[:80]!r}.", hint=hint
            )
        found.additions.append((owner, piece.source, node))


def _is_talk(node: ast.stmt) -> bool:
    """An example of use, a check, a docstring: nothing that a function needs."""
    if isinstance(node, ast.If):
        return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
    return isinstance(node, ast.Expr | ast.Assert | ast.For | ast.Pass)


def _nothing_to_replace(piece: Piece, among: Mapping[str, Source]) -> EditError:
    known = [old.name for file in among.values() for old in file.functions]
    names = [new.name for new in piece.source.functions]
    if not names:
        return EditError("no_function", f"{piece.source.where} defines no function.", hint="Write the whole function.")
    near = next(filter(None, (nearest(name, known) for name in names)), "")
    said = f"{piece.source.where} defines {', '.join(names)}, which {', '.join(among)} does not have{near}."
    return EditError("unknown_function", said, hint="Keep the name of the function that you change.")


def _changes(path: str, file: Source, found: _Found) -> Iterator[Change]:
    additions = _needed(found)
    used = names_used([*(new.node for _, _, new in found.functions), *(node for _, _, node in additions)])
    yield from import_changes(path, file, found.imports, used)
    yield from _inserted(file, found, additions)
    made: dict[int, Function] = {}
    for old, source, new in found.functions:
        change = None if _is_stub(new.node) else replacement(file, old, source, new)
        if change and old.start not in made:
            made[old.start] = new
            yield change
        elif change and not same_code(made[old.start].node, new.node):
            raise EditError("two_versions", f"the answer has two different versions of {old.name}.")


def _needed(found: _Found) -> list[_Addition]:
    """The additions that the functions use, and what these use in turn; whatever is new in a class may be used."""
    needed: list[_Addition] = []
    left = found.additions
    used = names_used(new.node for _, _, new in found.functions)
    while more := [one for one in left if one[0] or bound_names([one[2]]) & used]:
        needed += more
        left = [one for one in left if one not in more]
        used |= names_used(node for _, _, node in more)
    return [one for one in found.additions if one in needed]


def _inserted(file: Source, found: _Found, additions: Iterable[_Addition]) -> Iterator[Change]:
    seen: dict[str, ast.stmt] = {}
    end = line_end(file.text)
    for owner, source, node in additions:
        for name in bound_names([node]):
            if not same_code(seen.setdefault(owner + name, node), node):
                raise EditError("two_versions", f"the answer has two different versions of {owner}{name}.")
        if node not in seen.values():
            continue
        start = _anchor(file, owner, found)
        lines = moved(source, node, file.indentation(start)).rstrip("\r\n")
        offset = file.above_comments(start)
        yield Change(offset, offset, with_line_ends(lines, end) + end * (2 if owner else 3))


def _anchor(file: Source, owner: str, found: _Found) -> int:
    """Where the function begins before which something new is put; for a module, its whole class when it has one."""
    if owner:
        within = [old for old, _, _ in found.functions if old.name.startswith(owner)]
        return min(old.start for old in within or file.functions if old.name.startswith(owner))
    first = min(old.start for old, _, _ in found.functions)
    spans = (file.span(node) for node in file.body)
    return next(start for start, end in spans if start <= first < end)


def _is_stub(node: FunctionNode) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...
