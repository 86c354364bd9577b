"""Which names may stand at a place in the source, what they seem to hold, and how often they are read.

A name that nobody reads points at the place where it is missing, and a name that holds the same sort of thing is
likelier to be meant. The rule: a guess only shifts weights; names come from the function, around it, or the module.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .source import FUNCTIONS, Edit, Function, Source, called, is_stored

NUMBER, TEXT, LIST, DICT, SET, BOOL, FUNCTION = "number", "text", "list", "dict", "set", "bool", "function"
CONTAINER = "container"  # one of text, list, dict and set
_CONTAINERS = {CONTAINER, TEXT, LIST, DICT, SET}

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OWNERS = (*FUNCTIONS, ast.Lambda, *_COMPREHENSIONS, ast.Module, ast.ClassDef)
_VALUES = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.ListComp, ast.GeneratorExp)
_ARITHMETIC = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.Mod)


def _by_name(table: dict[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in table.items() for name in names.split()}


_RESULTS = _by_name(
    {
        NUMBER: "len sum int abs round ord float pow count index find rfind",
        TEXT: "str chr input repr bin hex format join lower upper strip replace lstrip rstrip title",
        LIST: "list sorted range reversed tuple enumerate zip map filter split splitlines items keys values deque",
        DICT: "dict counter defaultdict mapping",
        SET: "set frozenset",
        BOOL: "bool isinstance any all startswith endswith isdigit isalpha isupper islower",
        FUNCTION: "callable",
    }
)
_METHODS = _by_name(
    {
        LIST: "append extend insert sort reverse",
        SET: "add",
        DICT: "items keys values get",
        TEXT: "lower upper split strip startswith endswith join",
    }
)
_ARGUMENTS = _by_name({NUMBER: "range abs chr round", CONTAINER: "len sum sorted enumerate set list"})
_FORMS: dict[type[ast.expr], str] = {
    **dict.fromkeys((ast.List, ast.ListComp, ast.Tuple), LIST),
    **dict.fromkeys((ast.Dict, ast.DictComp), DICT),
    **dict.fromkeys((ast.Set, ast.SetComp), SET),
    ast.JoinedStr: TEXT,
    ast.Compare: BOOL,
    ast.Lambda: FUNCTION,
    ast.UnaryOp: NUMBER,
}


def kind_of(node: ast.expr | None) -> str | None:
    """What sort of thing an expression gives, by its own form alone."""
    if isinstance(node, ast.Constant):
        return {int: NUMBER, float: NUMBER, bool: BOOL, str: TEXT, bytes: TEXT}.get(type(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return BOOL
    if isinstance(node, ast.BinOp):
        left = kind_of(node.left)
        return left or (NUMBER if isinstance(node.op, _ARITHMETIC) else kind_of(node.right))
    return _RESULTS.get(called(node).lower()) if isinstance(node, ast.Call) else _FORMS.get(type(node))  # type: ignore[arg-type]


@dataclass(eq=False)
class Variable:
    """A name in one scope. `line` is where it is first bound; `reads` counts the places that use it."""

    name: str
    owner: ast.AST
    line: int
    parameter: bool = False
    reads: int = 0
    writes: int = 0
    kinds: set[str] = field(default_factory=set)

    @property
    def missed(self) -> float:
        """How much likelier it is that the name is missing somewhere: more so when nobody reads it."""
        return 1.0 if self.reads else 3.0


class Code(Source):
    """A source with the names in it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._owned: dict[ast.AST, dict[str, Variable]] = defaultdict(dict)
        self.functions: dict[str, Function] = {}
        for node in self.order:
            if isinstance(node, FUNCTIONS):
                self.functions.setdefault(node.name, node)
            if isinstance(node, (*FUNCTIONS, ast.Lambda)):
                self._bind_parameters(node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._add(self._owner(node), node.id, node.lineno, self._bound_kind(node))
        for name in self.of(ast.Name):
            variable = self.find(name, name.id)
            if variable and not is_stored(name):
                variable.reads += 1
                kind = self._kind_by_use(name)
                if kind and not (variable.kinds and kind == CONTAINER):
                    variable.kinds.add(kind)

    def _owner(self, node: ast.AST) -> ast.AST:
        return next((above for above in self.up(node) if isinstance(above, _OWNERS)), self.tree)

    def visible(self, node: ast.AST) -> Iterator[Variable]:
        """Every variable that can be read at a node, innermost first; no functions, no classes, no imports."""
        seen = {"self", "cls", "_"}
        for above in self.up(node):
            if not isinstance(above, ast.ClassDef):
                for variable in self._owned.get(above, {}).values():
                    if variable.name not in seen:
                        seen.add(variable.name)
                        yield variable

    def local(self, node: ast.AST, besides: Iterable[str] = ()) -> list[Variable]:
        """The visible variables that are not the module's."""
        return [v for v in self.visible(node) if v.owner is not self.tree and v.name not in besides]

    def find(self, node: ast.AST, name: str) -> Variable | None:
        return next((variable for variable in self.visible(node) if variable.name == name), None)

    def numbers(self, node: ast.AST, besides: Iterable[str] = ()) -> list[Variable]:
        return [v for v in self.local(node, besides) if NUMBER in v.kinds or not v.kinds]

    def containers(self, node: ast.AST) -> list[Variable]:
        return [v for v in self.local(node) if not v.kinds or v.kinds - {NUMBER, BOOL, FUNCTION}]

    def kinds(self, node: ast.AST | None) -> set[str]:
        """The guesses at what an expression holds; none when nothing is known."""
        if isinstance(node, ast.Name):
            variable = self.find(node, node.id)
            return variable.kinds if variable else {FUNCTION}
        kind = kind_of(node) if isinstance(node, ast.expr) else None
        return {kind} if kind else set()

    def values(self) -> Iterator[tuple[ast.expr, ast.AST]]:
        """The expressions that are read for what they hold, each with what holds it."""
        for node in self.of(ast.expr):
            parent = self.parents[node]
            bare = isinstance(parent, ast.Expr | ast.Attribute) or getattr(parent, "func", None) is node
            if isinstance(node, _VALUES) and not bare and not is_stored(node):
                yield node, parent

    def may_be(self, node: ast.AST, *kinds: str) -> bool:
        known = self.kinds(node)
        alike = (
            not known.isdisjoint(_CONTAINERS) and not _CONTAINERS.isdisjoint(kinds) and CONTAINER in {*known, *kinds}
        )
        return not known or not known.isdisjoint(kinds) or alike

    def fit(self, there: set[str], other: Variable) -> float:
        """How likely it is that `other` was meant where something of the kinds `there` stands."""
        weight = 0.7 if not there or not other.kinds else 0.25
        if there & other.kinds or (CONTAINER in there | other.kinds and not {NUMBER, BOOL} & (there | other.kinds)):
            weight = 1.0
        if other.owner is self.tree:
            weight *= 0.3
        return weight * other.missed

    def each(
        self, node: ast.AST, others: list[Variable], forms: Iterable[tuple[str, str, float]], family: str
    ) -> Iterator[Edit]:
        """The node gives way to each of the variables, with something before and behind it, in each of the forms."""
        for variable in others:
            for before, behind, weight in forms:
                share = min(0.7, weight * variable.missed / (len(others) + 1))
                yield self.replace(node, f"{before}{variable.name}{behind}", family, share)

    def _add(self, owner: ast.AST, name: str, line: int, kind: str | None, *, parameter: bool = False) -> None:
        variable = self._owned[owner].setdefault(name, Variable(name, owner, line, parameter))
        variable.writes += 1
        if kind:
            variable.kinds.add(kind)

    def _bind_parameters(self, function: Function | ast.Lambda) -> None:
        given = function.args
        extra = [argument for argument in (given.vararg, given.kwarg) if argument]
        for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]:
            self._add(function, argument.arg, function.lineno, _kind_of_annotation(argument.annotation), parameter=True)

    def _bound_kind(self, node: ast.Name) -> str | None:
        """What the assignment, loop or comprehension that binds a name puts into it."""
        parent = self.parents[node]
        at = None
        if isinstance(parent, ast.Tuple):
            at, parent = parent.elts.index(node), self.parents[parent]
        if isinstance(parent, ast.For | ast.comprehension):
            return NUMBER if called(parent.iter) == ("enumerate" if at == 0 else "range") else None
        if isinstance(parent, ast.AugAssign):
            return NUMBER if isinstance(parent.op, _ARITHMETIC) else kind_of(parent.value)
        value = parent.value if isinstance(parent, ast.Assign) else None
        if at is not None:
            value = value.elts[at] if isinstance(value, ast.Tuple) and at < len(value.elts) else None
        return kind_of(value)

    def _kind_by_use(self, node: ast.Name) -> str | None:
        """What sort of thing a name must hold to be used as it is."""
        parent = self.parents[node]
        if isinstance(parent, ast.Subscript):
            return CONTAINER if parent.value is node else None
        if isinstance(parent, ast.BinOp):
            other = parent.right if parent.left is node else parent.left
            return NUMBER if isinstance(parent.op, _ARITHMETIC) and kind_of(parent.left) != TEXT else kind_of(other)
        if isinstance(parent, ast.For | ast.comprehension):
            return CONTAINER if parent.iter is node else None
        if isinstance(parent, ast.Attribute):
            return _METHODS.get(parent.attr)
        if isinstance(parent, ast.Compare):
            return kind_of(parent.comparators[0] if parent.left is node else parent.left)
        if isinstance(parent, ast.Call):
            return FUNCTION if parent.func is node else _ARGUMENTS.get(called(parent))
        return None


def _kind_of_annotation(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return _RESULTS.get(name.lower())
