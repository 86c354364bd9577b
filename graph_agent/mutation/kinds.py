"""A guess at what sort of thing an expression or a name holds: number, text, list, dict, set, bool or function.

One name put in the place of another is likelier to be meant when both hold the same sort of thing. The rule: a guess
only shifts weights. Nothing is left out because of it, since the code at hand has a bug and may well mislead.
"""

from __future__ import annotations

import ast

NUMBER, TEXT, LIST, DICT, SET, BOOL, FUNCTION = "number", "text", "list", "dict", "set", "bool", "function"
CONTAINER = "container"  # one of text, list, dict and set

_OF_CALL = {
    **dict.fromkeys(("len", "sum", "int", "abs", "round", "ord", "float", "pow", "divmod", "hash", "id"), NUMBER),
    **dict.fromkeys(("str", "chr", "input", "repr", "bin", "hex", "format"), TEXT),
    **dict.fromkeys(("list", "sorted", "range", "reversed", "tuple", "enumerate", "zip", "map", "filter"), LIST),
    **dict.fromkeys(("dict", "Counter", "defaultdict", "OrderedDict"), DICT),
    **dict.fromkeys(("set", "frozenset"), SET),
    **dict.fromkeys(("bool", "isinstance", "any", "all", "callable", "hasattr"), BOOL),
}
_OF_METHOD_OWNER = {
    **dict.fromkeys(("append", "extend", "insert", "sort", "reverse"), LIST),
    **dict.fromkeys(("add", "union", "intersection", "issubset", "difference"), SET),
    **dict.fromkeys(("items", "keys", "values", "setdefault", "get"), DICT),
    **dict.fromkeys(("lower", "upper", "split", "strip", "startswith", "endswith", "join", "isdigit", "isalpha"), TEXT),
}
_OF_METHOD_RESULT = {
    **dict.fromkeys(("join", "lower", "upper", "strip", "replace", "format", "lstrip", "rstrip", "title"), TEXT),
    **dict.fromkeys(("split", "splitlines", "items", "keys", "values", "copy"), LIST),
    **dict.fromkeys(("count", "index", "find", "rfind", "bit_length"), NUMBER),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower"), BOOL),
}
_OF_ANNOTATION = {
    **dict.fromkeys(("int", "float", "complex"), NUMBER),
    "str": TEXT,
    "bool": BOOL,
    **dict.fromkeys(("list", "List", "Sequence", "tuple", "Tuple", "Iterable", "deque"), LIST),
    **dict.fromkeys(("dict", "Dict", "Mapping"), DICT),
    **dict.fromkeys(("set", "Set", "frozenset"), SET),
    "Callable": FUNCTION,
}
_ARITHMETIC = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.Mod)


def kind_of(node: ast.expr | None) -> str | None:
    """What sort of thing an expression gives, by its own form alone."""
    if isinstance(node, ast.Constant):
        return _constant_kind(node.value)
    if isinstance(node, ast.List | ast.ListComp | ast.Tuple):
        return LIST
    if isinstance(node, ast.Dict | ast.DictComp):
        return DICT
    if isinstance(node, ast.Set | ast.SetComp):
        return SET
    if isinstance(node, ast.JoinedStr):
        return TEXT
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return BOOL
    if isinstance(node, ast.Lambda):
        return FUNCTION
    if isinstance(node, ast.UnaryOp):
        return NUMBER
    if isinstance(node, ast.BinOp):
        return _operation_kind(node)
    return _call_kind(node) if isinstance(node, ast.Call) else None


def kind_of_annotation(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return _OF_ANNOTATION.get(name)


def kind_by_use(node: ast.expr, parent: ast.AST | None, above: ast.AST | None) -> str | None:
    """What sort of thing a name must hold to be used as it is; `parent` holds the name and `above` the parent."""
    if isinstance(parent, ast.Subscript):
        return CONTAINER if parent.value is node else None
    if isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is node else parent.left
        return NUMBER if isinstance(parent.op, _ARITHMETIC) and kind_of(parent.left) != TEXT else kind_of(other)
    if isinstance(parent, ast.AugAssign):
        return NUMBER if isinstance(parent.op, _ARITHMETIC) else kind_of(parent.value)
    if isinstance(parent, ast.For | ast.comprehension):
        return CONTAINER if parent.iter is node else None
    if isinstance(parent, ast.Attribute):
        return _OF_METHOD_OWNER.get(parent.attr) if isinstance(above, ast.Call) else None
    if isinstance(parent, ast.Compare):
        return kind_of(parent.comparators[0]) if parent.left is node else kind_of(parent.left)
    return _kind_as_argument(node, parent)


def alike(first: frozenset[str], second: frozenset[str]) -> float:
    """How well two sets of guesses agree: 1.0 for a common one, 0.25 for a contradiction, between for not known."""
    if not first or not second:
        return 0.7
    if first & second or (CONTAINER in first | second and not {NUMBER, BOOL, FUNCTION} & (first | second)):
        return 1.0
    return 0.25


def _constant_kind(value: object) -> str | None:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int | float):
        return NUMBER
    return TEXT if isinstance(value, str | bytes) else None


def _operation_kind(node: ast.BinOp) -> str | None:
    left = kind_of(node.left)
    if isinstance(node.op, _ARITHMETIC):
        return TEXT if left == TEXT else NUMBER
    return left or kind_of(node.right)


def _call_kind(node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Name):
        return _OF_CALL.get(node.func.id)
    return _OF_METHOD_RESULT.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None


def _kind_as_argument(node: ast.expr, parent: ast.AST | None) -> str | None:
    if not isinstance(parent, ast.Call):
        return None
    if parent.func is node:
        return FUNCTION
    name = parent.func.id if isinstance(parent.func, ast.Name) else ""
    if name in {"range", "abs", "chr", "round", "bin"}:
        return NUMBER
    return CONTAINER if name in {"len", "sum", "sorted", "enumerate", "set", "list", "reversed", "any", "all"} else None
