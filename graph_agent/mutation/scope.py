"""Which names may stand at a place in the source, what they seem to hold, and how often they are read.

A name that nobody reads, or a parameter that nothing uses, is a smell that points at the place where it is missing.
The rule: a name is offered only where Python could find it, in the function, around it, or at module level.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from .kinds import BOOL, CONTAINER, FUNCTION, LIST, NUMBER, alike, kind_by_use, kind_of, kind_of_annotation
from .source import FUNCTIONS, Source

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OWNERS = (*FUNCTIONS, ast.Lambda, *_COMPREHENSIONS, ast.Module, ast.ClassDef)


@dataclass
class Variable:
    """A name in one scope. `line` is where it is first bound; `reads` counts the places that use it."""

    name: str
    owner: ast.AST
    line: int
    parameter: bool = False
    reads: int = 0
    kinds: set[str] = field(default_factory=set)

    @property
    def known(self) -> frozenset[str]:
        return frozenset(self.kinds)


class Scopes:
    """The names of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._owned: dict[ast.AST, dict[str, Variable]] = defaultdict(dict)
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        for node in source.order:
            self._bind(node)
        for name in source.of(ast.Name):
            self._use(name)

    @staticmethod
    def of(source: Source) -> Scopes:
        """The scopes of a source, worked out once."""
        return source.once(Scopes)

    def bound_names(self) -> frozenset[str]:
        """Every name that anything in the source binds, or that Python has without."""
        imported = {
            (alias.asname or alias.name).split(".")[0]
            for node in ast.walk(self._source.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        classes = {node.name for node in self._source.of(ast.ClassDef)}
        variables = {name for owned in self._owned.values() for name in owned}
        return frozenset(imported | classes | variables | set(self.functions) | set(dir(builtins)))

    def owner(self, node: ast.AST) -> ast.AST:
        """The innermost thing around a node that has names of its own."""
        return next((above for above in self._source.up(node) if isinstance(above, _OWNERS)), self._source.tree)

    def visible(self, node: ast.AST) -> Iterator[Variable]:
        """Every variable that can be read at a node, innermost first; no functions, no classes, no imports."""
        seen: set[str] = set()
        nearest = True
        for above in self._source.up(node):
            if not isinstance(above, _OWNERS) or (isinstance(above, ast.ClassDef) and not nearest):
                continue
            nearest = nearest and isinstance(above, _COMPREHENSIONS)
            for variable in self._owned[above].values():
                if variable.name not in seen and variable.name not in {"self", "cls", "_"}:
                    seen.add(variable.name)
                    yield variable

    def local(self, node: ast.AST) -> list[Variable]:
        """The visible variables that are not the module's."""
        return [variable for variable in self.visible(node) if variable.owner is not self._source.tree]

    def find(self, node: ast.AST, name: str) -> Variable | None:
        return next((variable for variable in self.visible(node) if variable.name == name), None)

    def numbers(self, node: ast.AST) -> list[Variable]:
        return [v for v in self.local(node) if NUMBER in v.kinds or not v.kinds]

    def containers(self, node: ast.AST) -> list[Variable]:
        return [v for v in self.local(node) if not v.kinds or v.kinds - {NUMBER, BOOL, FUNCTION}]

    def fit(self, node: ast.AST, there: Variable | None, other: Variable) -> float:
        """How likely it is that `other` was meant where `there` stands."""
        weight = alike(there.known, other.known) if there else 0.5
        if other.reads == 0:
            weight *= 3.0
        if other.owner is self._source.tree:
            weight *= 0.3
        if not other.parameter and other.line > node.lineno and not self._source.loops(node):  # type: ignore[attr-defined]
            weight *= 0.1
        return weight * (1.5 if there and _twins(there.name, other.name) else 1.0)

    def _add(self, owner: ast.AST, name: str, line: int, *, parameter: bool = False) -> Variable:
        return self._owned[owner].setdefault(name, Variable(name, owner, line, parameter))

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, FUNCTIONS):
            self.functions.setdefault(node.name, node)
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            self._bind_parameters(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            variable = self._add(self.owner(node), node.id, node.lineno)
            kind = self._bound_kind(node)
            if kind:
                variable.kinds.add(kind)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._add(self.owner(node), node.name, node.lineno)

    def _bind_parameters(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        given = function.args
        extra = [argument for argument in (given.vararg, given.kwarg) if argument]
        for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]:
            variable = self._add(function, argument.arg, function.lineno, parameter=True)
            kind = LIST if argument is given.vararg else kind_of_annotation(argument.annotation)
            if kind:
                variable.kinds.add(kind)
        for argument, default in zip(reversed(given.args), reversed(given.defaults), strict=False):
            kind = kind_of(default)
            if kind:
                self._owned[function][argument.arg].kinds.add(kind)

    def _bound_kind(self, node: ast.Name) -> str | None:
        """What the assignment, loop or comprehension that binds a name puts into it."""
        parent = self._source.parents[node]
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            annotated = kind_of_annotation(parent.annotation) if isinstance(parent, ast.AnnAssign) else None
            return annotated or kind_of(parent.value)
        if isinstance(parent, ast.AugAssign):
            return kind_by_use(node, parent, None)
        if isinstance(parent, ast.Tuple):
            return self._unpacked_kind(node, parent)
        if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension):
            return NUMBER if _calls(parent.iter, "range") else None
        return None

    def _unpacked_kind(self, node: ast.Name, parent: ast.Tuple) -> str | None:
        at, above = parent.elts.index(node), self._source.parents[parent]
        if isinstance(above, ast.Assign) and isinstance(above.value, ast.Tuple) and at < len(above.value.elts):
            return kind_of(above.value.elts[at])
        numbered = isinstance(above, ast.For | ast.comprehension) and _calls(above.iter, "enumerate")
        return NUMBER if numbered and at == 0 else None

    def _use(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            return
        variable = self.find(node, node.id)
        if variable is None:
            return
        parent = self._source.parents[node]
        variable.reads += 1
        kind = kind_by_use(node, parent, self._source.parents.get(parent))
        if kind and not (variable.kinds and kind == CONTAINER):
            variable.kinds.add(kind)


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _twins(first: str, second: str) -> bool:
    """Names that are told apart with difficulty: i and j, lst1 and lst2, min_sum and max_sum."""
    if len(first) == len(second) == 1:
        return True
    stem = len(first) - len(first.rstrip("0123456789")) or len(second) - len(second.rstrip("0123456789"))
    same = first.rstrip("0123456789") == second.rstrip("0123456789")
    parts = set(first.split("_")) & set(second.split("_"))
    return bool((stem and same) or parts)
