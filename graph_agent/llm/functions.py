"""Whole functions that a model wrote, put in the place of those that they name.

A fence may hold several functions, a class with some of its methods, new helpers, imports and an example of use. What
its functions use and the file lacks goes in with them; the rest is talk. The rule: what is ambiguous, or would give a
name of the file another meaning, is an error and never a guess.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from symtable import symtable
from tokenize import COMMENT, DEDENT, INDENT, NEWLINE, NL, generate_tokens, tok_name
from typing import NamedTuple, TypeAlias
from warnings import catch_warnings, simplefilter

from graph_agent.mutation.source import parsed
from graph_agent.protocols import ToolError
from graph_agent.runtime.errors import nearest
from graph_agent.tools.textedit import lines_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Import = ast.Import | ast.ImportFrom
_Change: TypeAlias = tuple[int, int, list[str]]  # lines[start:end] become these


class Code:
    r"""A parsed text, its lines ended by `\n`; a `piece` may be indented as a whole.

    `where` names it in errors, `path` the file that it is meant for. Raises `ToolError` "does_not_parse".
    """

    def __init__(self, where: str, text: str, *, path: str = "", piece: bool = False) -> None:
        self.where, self.path = where, path
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n") + "\n"
        first = re.search(r"^[ \t]*(?=[^\s#])", text, re.MULTILINE)
        added = "if True:\n" if piece and first and first[0] else ""  # so that the strings in it stay as they are
        self.lines = lines_of(added + text)
        try:
            self.body = parsed(added + text).body
            with catch_warnings():
                simplefilter("ignore")  # a doubtful escape in somebody's string is not ours to report
                symtable(added + text, where, "exec")  # which finds two arguments of one name, and the like
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = max((getattr(error, "lineno", None) or 1) - bool(added), 1)
            said = getattr(error, "msg", None) or str(error) or type(error).__name__
            message = f"{where} is not valid Python: line {line}: {said}."
            raise ToolError("does_not_parse", message, lines=(line,)) from error
        if added and isinstance(block := self.body[0], ast.If):
            self.body[:1] = block.body

    def indentation(self, row: int) -> str:
        line = self.lines[row]
        return line[: len(line) - len(line.lstrip(" \t"))]


class _Known(NamedTuple):
    """A function of a file: "f" or "Class.m"."""

    path: str
    name: str
    node: _Function


class _Other(NamedTuple):
    """A statement of a piece that is no known function, and the class that it is written in: "Class." or ""."""

    owner: str
    piece: Code
    node: ast.stmt


@dataclass
class _Wanted:
    """What the pieces ask of one file."""

    functions: list[tuple[_Known, Code, _Function]] = field(default_factory=list)
    others: list[_Other] = field(default_factory=list)


def with_functions(pieces: Sequence[Code], files: Mapping[str, str]) -> dict[str, str]:
    r"""The new texts of the files that the pieces change, line ends as `\n`."""
    sources: dict[str, Code] = {}
    broken: ToolError | None = None
    for path, text in files.items():
        try:
            sources[path] = Code(path, text)
        except ToolError as error:
            broken = error  # which matters only if it is the one to change
    known = [_Known(path, *found) for path, source in sources.items() for found in _functions(source.body)]
    wanted: defaultdict[str, _Wanted] = defaultdict(_Wanted)
    placed: list[ast.stmt] = []
    for piece in pieces:
        among = [one for one in known if piece.path in ("", one.path)]
        for name, new in _functions(piece.body):
            if old := _meant(name, new, among):
                piece.path = old.path
                wanted[old.path].functions.append((old, piece, new))
                placed.append(new)
    for piece in pieces:
        path = piece.path or (next(iter(wanted)) if len(wanted) == 1 else "")
        if path not in wanted:
            names = [name for name, _ in _functions(piece.body)] or ["no function"]
            near = nearest(names[0], [one.name for one in known])
            said = f"{piece.where} defines {', '.join(names)}, which is not in the files{near}."
            hint = "Keep the name of the function that you change."
            raise broken or ToolError("unknown_function", said, hint=hint)
        wanted[path].others += (one for one in _statements(piece, sources[path]) if one.node not in placed)
    return {path: _merged(sources[path], one) for path, one in wanted.items()}


def _statements(piece: Code, file: Code) -> Iterator[_Other]:
    """The statements of a piece, those of a class that the file has one by one, and each imported name for itself."""
    classes = {node.name for node in file.body if isinstance(node, ast.ClassDef)}
    for node in piece.body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            yield from (_Other(f"{node.name}.", piece, inner) for inner in node.body)
        else:
            yield from (_Other("", piece, one) for one in _singly(node) or [node])


def _meant(name: str, new: _Function, known: Iterable[_Known]) -> _Known | None:
    """The function that `new` takes the place of. Without its class it may be a method, if both or none take `self`.

    Of several with one full name (property, overload, branch) it is the one with the same decorators and signature.
    """
    named = [one for one in known if f".{one.name}".endswith(f".{name}")]
    pool = [one for one in named if _takes_self(one.node) == _takes_self(new)]
    pool = pool or [one for one in named if one.name == name]
    if len({(one.path, one.name) for one in pool}) == 1:
        for trait in ("decorator_list", "args"):
            pool = [one for one in pool if _same(getattr(one.node, trait), getattr(new, trait))] or pool
    if len(pool) > 1:
        listed = ", ".join(f"{one.name} on line {one.node.lineno} of {one.path}" for one in pool)
        hint = "Write the method within its class, and the path in a comment on the first line."
        lines = tuple(one.node.lineno for one in pool)
        raise ToolError("ambiguous", f"{name!r} may mean {listed}.", hint=hint, lines=lines)
    return pool[0] if pool else None


def _merged(file: Code, wanted: _Wanted) -> str:
    changes = [*_additions(file, wanted), *_replacements(file, wanted)]
    lines = file.lines[:]
    for start, end, new in sorted(changes, key=lambda change: change[0])[::-1]:  # the last first: rows stay valid
        lines[start:end] = new
    return "".join(lines)


def _replacements(file: Code, wanted: _Wanted) -> Iterator[_Change]:
    made: dict[int, _Function] = {}
    for old, piece, new in wanted.functions:
        start, end = _rows(old.node)
        rows = _rows(new)
        if not new.decorator_list:
            start = old.node.lineno - 1
            new.decorator_list = old.node.decorator_list
        if _same(old.node, new) or ast.unparse(new.body[-1]) == "...":
            continue  # it was written only to show where things stand
        if not _same(made.setdefault(start, new), new):
            raise ToolError("two_versions", f"the answer has two different versions of {old.name}.")
        if made[start] is new:
            original = "".join(file.lines[start:end])
            yield start, end, _moved(piece, rows, file.indentation(start), original)


def _additions(file: Code, wanted: _Wanted) -> list[_Change]:
    """What the functions use and the file lacks, each once.

    Imports go after those of the file, methods to the end of their class, the rest before the first function that is
    replaced, or before its class.
    """
    first = min(old.node.lineno for old, _, _ in wanted.functions)
    top = next(_rows(node)[0] for node in file.body if (node.end_lineno or 0) >= first)
    while top and file.lines[top - 1].startswith("#"):
        top -= 1
    row = max((_rows(node)[1] for node in file.body if isinstance(node, _Import) and node.lineno <= top), default=top)
    classes = {f"{node.name}.": node for node in file.body if isinstance(node, ast.ClassDef)}
    bodies = {owner: node.body[:] for owner, node in classes.items()}
    bodies[""] = [*file.body, *(one for node in ast.walk(ast.Module(file.body, [])) for one in _singly(node))]
    imports: list[str] = []
    changes: list[_Change] = []
    for owner, piece, node in _needed(wanted):
        if any(_same(node, other) for other in bodies[owner]):
            continue
        taken = _names([node])[0] & _names(bodies[owner])[0]
        if taken:
            said = f"{piece.where} gives another meaning to {', '.join(sorted(taken))} of {file.where}."
            raise ToolError("name_taken", said, hint="Write only whole functions, new helpers and imports.")
        bodies[owner].append(node)
        if isinstance(node, _Import):
            imports.append(f"{ast.unparse(node)}\n")
        elif owner:
            end, indentation = _rows(classes[owner])[1], file.indentation(classes[owner].body[0].lineno - 1)
            changes.append((end, end, ["\n", *_moved(piece, _rows(node), indentation)]))
        else:
            changes.append((top, top, [*_moved(piece, _rows(node), ""), "\n", "\n"]))
    return [(row, row, imports + ["\n", "\n"] * (row == top)), *changes] if imports else changes


def _needed(wanted: _Wanted) -> list[_Other]:
    """What the functions use of the other statements, and what these use in turn. All of a class may be used."""
    _, used = _names([new for _, _, new in wanted.functions])
    left = [(one, *_names([one.node])) for one in wanted.others]
    needed: list[_Other] = []
    while more := [one for one in left if one[1] and (one[0].owner or one[1] & used)]:
        needed += [one for one, _, _ in more]
        left = [one for one in left if one not in more]
        used = used.union(*(read for _, _, read in more))
    return [one for one in wanted.others if one in needed]


def _moved(piece: Code, rows: tuple[int, int], indentation: str, original: str = "") -> list[str]:
    """The lines of a statement at another indentation.

    The inside of a string moves only where that changes nothing: in a docstring, and where the string then stands in
    the `original`, because the model moved the function as a block.
    """
    lines, own = piece.lines[slice(*rows)], piece.indentation(rows[0])
    fixed: set[int] = set()
    before = NEWLINE
    for token in generate_tokens(iter(lines).__next__):
        inside = range(token.start[0], token.end[0])  # the rows after its first, counted from 0
        if inside and tok_name[token.type] in ("STRING", "FSTRING_MIDDLE") and before not in (NEWLINE, INDENT, DEDENT):
            first, *rest = lines_of(token.string)
            if "".join([first, *(_shifted(line, own, indentation) for line in rest)]) not in original:
                fixed.update(inside)
        if token.type not in (NL, COMMENT):
            before = token.type
    return [line if row in fixed else _shifted(line, own, indentation) for row, line in enumerate(lines)]


def _shifted(line: str, own: str, indentation: str) -> str:
    if not line.strip():
        return line
    return indentation + (line[len(own) :] if line.startswith(own) else line.lstrip(" \t"))


def _functions(nodes: Iterable[ast.AST], owner: str = "") -> Iterator[tuple[str, _Function]]:
    """The functions of a module or class by their full names, also those within an `if` or a `try`."""
    for node in nodes:
        if isinstance(node, _Function):
            yield owner + node.name, node
        elif isinstance(node, ast.stmt | ast.excepthandler):
            inner = f"{owner}{node.name}." if isinstance(node, ast.ClassDef) else owner
            yield from _functions(ast.iter_child_nodes(node), inner)


def _names(nodes: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that statements give a value, and those that they take from around them."""
    tables = [symtable(ast.unparse(ast.Module(list(nodes), [])), "", "exec")]
    bound = {one.get_name() for one in tables[0].get_symbols() if one.is_assigned() or one.is_imported()}
    read: set[str] = set()
    for table in tables:  # which grows on the way
        read.update(one.get_name() for one in table.get_symbols() if one.is_global())
        tables += table.get_children()
    return bound, read - bound


def _singly(node: ast.AST) -> list[ast.stmt]:
    """An import as one statement for each name; other statements, and those for the compiler, are no imports here."""
    if isinstance(node, ast.Import):
        return [ast.Import([alias]) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module != "__future__":
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
    return []


def _rows(node: ast.stmt) -> tuple[int, int]:
    """The whole lines that a statement takes, decorators included: `lines[start:end]`."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return first - 1, node.end_lineno or node.lineno


def _takes_self(function: _Function) -> bool:
    return [one.arg for one in function.args.posonlyargs + function.args.args][:1] in (["self"], ["cls"])


def _same(one: ast.AST | list[ast.expr], other: ast.AST | list[ast.expr]) -> bool:
    """Whether two pieces of code differ in nothing but layout and comments."""
    texts = [ast.dump(part if isinstance(part, ast.AST) else ast.Tuple(part)) for part in (one, other)]
    return texts[0] == texts[1]
