"""The imports that a model wrote above its function, and what of them the file still lacks.

An import that the file already has, or that the code does not use, is dropped, also one name of several; what is new
goes after the leading imports. The rule: an import that would give a name of the file another meaning is an error.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from graph_agent.llm.functions import Source, bound_names
from graph_agent.llm.textedits import Change, EditError, line_end

ImportNode = ast.Import | ast.ImportFrom
FunctionOrClass = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def import_changes(path: str, file: Source, written: Sequence[ImportNode], used: Collection[str]) -> Iterator[Change]:
    """The changes of `file` that add what it lacks of the imports `written`, each once, if its name is `used`."""
    known = {name for node in ast.walk(ast.Module(file.body, [])) for name in _imported(node)}
    taken = bound_names(file.body)
    lacking: dict[bool, list[str]] = {True: [], False: []}
    for node in written:
        fresh = [alias for alias in node.names if _identity(node, alias) not in known and _is_used(node, alias, used)]
        fresh = [] if _own(path, node, taken) else fresh
        for alias in fresh:
            _refuse_other_meaning(path, node, alias, taken)
            known.add(_identity(node, alias))
        if fresh:
            lacking[_is_future(node)].append(ast.unparse(_with_names(node, fresh)))
    for future, statements in lacking.items():
        if statements:
            yield _added(file, statements, future)


def _imported(node: ast.AST) -> Iterator[tuple[str, int, str, str]]:
    if isinstance(node, ImportNode):
        yield from (_identity(node, alias) for alias in node.names)


def _identity(node: ImportNode, alias: ast.alias) -> tuple[str, int, str, str]:
    module, level = (node.module or "", node.level) if isinstance(node, ast.ImportFrom) else ("", -1)
    return module, level, alias.name, alias.asname or alias.name


def _is_used(node: ImportNode, alias: ast.alias, used: Collection[str]) -> bool:
    return _is_future(node) or alias.name == "*" or (alias.asname or alias.name).partition(".")[0] in used


def _own(path: str, node: ImportNode, taken: set[str]) -> bool:
    """True for `from shop.cart import Cart` within shop/cart.py itself: the names are there without it."""
    if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
        return False
    dotted = ".".join(PurePosixPath(path).with_suffix("").parts)
    return f".{dotted}".endswith(f".{node.module}") and all(alias.name in taken for alias in node.names)


def _refuse_other_meaning(path: str, node: ImportNode, alias: ast.alias, taken: set[str]) -> None:
    name = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else "")  # `import a.b` only adds to `a`
    if name in taken:
        found = f"`{ast.unparse(node)}` would change what {name!r} means in {path}."
        raise EditError("name_taken", found, hint="Import it under another name, or within the function.")


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _with_names(node: ImportNode, names: list[ast.alias]) -> ImportNode:
    return ast.ImportFrom(node.module, names, node.level) if isinstance(node, ast.ImportFrom) else ast.Import(names)


def _added(file: Source, statements: list[str], future: bool) -> Change:
    offset, end = _place(file, future), line_end(file.text)
    follows_import = any(isinstance(node, ImportNode) and file.span(node)[1] == offset for node in file.body)
    gap = "" if follows_import or file.text.startswith(("\n", "\r\n"), offset) else end
    return Change(offset, offset, "".join(f"{statement}{end}" for statement in statements) + gap)


def _place(file: Source, future: bool) -> int:
    """After the imports with which the file begins; without any, and for `__future__`, before the other code."""
    body = file.body
    first = file.span(body[0])[0]
    offset = file.above_comments(first) or first  # a comment on the first line is the file's, not the statement's
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        offset = file.span(body[0])[1]
    for node in body:
        if isinstance(node, FunctionOrClass):
            break
        if isinstance(node, ImportNode) and (not future or _is_future(node)):
            offset = file.span(node)[1]
    return max(offset, len(file.text) - len(file.text.removeprefix("\ufeff")))
