"""Another constant: one off, of the other sign, another one from the same file, or the empty thing for a full one.

The rule: new constants come from the old one by a small step, or from elsewhere in the same source. None comes from
what a test expects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edit import Edit
from .source import FUNCTIONS, Source, is_stored
from .write import replace

_SINGLETONS: dict[object, tuple[tuple[str, float], ...]] = {
    True: (("False", 0.9), ("None", 0.05)),
    False: (("True", 0.9), ("None", 0.05)),
    None: (("True", 0.1), ("False", 0.15), ("0", 0.15), ("[]", 0.1), ("''", 0.05), ("{}", 0.03)),
}

_PARTNERS = {sign: signs.replace(sign, "") for signs in ("([{<", ")]}>", ".,;:", "-_", "/\\", "+-*/") for sign in signs}
_EXTREMES = ("min", "max", "best", "low", "high", "small", "larg")


def numbers(source: Source) -> Iterator[Edit]:
    """An int one more or one less, of the other sign, zero; a float likewise; another number of the same function."""
    nearby = _numbers_by_function(source)
    for node in source.of(ast.Constant):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        choices = list(_int_choices(value)) if isinstance(value, int) else list(_float_choices(value))
        others = [text for text in nearby.get(source.function(node), ()) if text != source.seg(node)]
        choices += [(text, min(0.1, 0.5 / len(others))) for text in others]
        for text, weight in choices:
            yield replace(source, node, text, "constant", weight * _place(source, node))


def singletons(source: Source) -> Iterator[Edit]:
    """True, False and None, each for another."""
    for node in source.of(ast.Constant):
        if node.value is None or isinstance(node.value, bool):
            keyword = isinstance(source.parents[node], ast.keyword)
            for text, weight in _SINGLETONS[node.value]:
                yield replace(source, node, text, "constant", weight * (0.8 if keyword else 1.0))


def strings(source: Source) -> Iterator[Edit]:
    """The empty string, another string of the file, other letter case, one character less, another format."""
    texts = _strings_of(source)
    for node in source.of(ast.Constant):
        if (
            not isinstance(node.value, str)
            or isinstance(source.parents[node], ast.JoinedStr)
            or "\n" in source.seg(node)
        ):
            continue
        others = [text for text in texts if text != node.value]
        for text, weight in _string_choices(node.value, others):
            yield replace(source, node, _quoted(source, node, text), "string", weight)


def empties(source: Source) -> Iterator[Edit]:
    """A list, tuple, set or dict without one of its elements; `[]` for `[[]]` and back; an empty one gets a zero."""
    for node in source.of(ast.List, ast.Tuple, ast.Set):
        if is_stored(node) or isinstance(source.parents[node], ast.Subscript):
            continue
        for at in range(len(node.elts)):
            if len(node.elts) > 1:
                yield _without(source, node, at)
        for at in range(len(node.elts) - 1):
            yield _swapped(source, node, at)
        if isinstance(node, ast.List):
            yield from _list_choices(source, node)
    for mapping in source.of(ast.Dict):
        if mapping.keys:
            yield replace(source, mapping, "{}", "constant", 0.03)


def defaults(source: Source) -> Iterator[Edit]:
    """A start value becomes infinity, where a loop looks for the least or the greatest."""
    for node in source.of(ast.Assign):
        name = node.targets[0]
        if not isinstance(name, ast.Name) or not isinstance(node.value, ast.Constant | ast.UnaryOp):
            continue
        if any(word in name.id.lower() for word in _EXTREMES):
            for text in ("float('inf')", "-float('inf')", "None"):
                yield replace(source, node.value, text, "constant", 0.12)


def _int_choices(value: int) -> Iterator[tuple[str, float]]:
    yield str(value + 1), 0.7
    if value > 0:
        yield str(value - 1), 0.7
        yield f"-{value}", 0.25
    if value > 1:
        yield "1", 0.15
        yield "0", 0.15
        yield str(value + 2), 0.05
    elif value == 1:
        yield "2", 0.3
    else:
        yield "-1", 0.35
        yield "None", 0.1
    if value > 2:
        yield str(value * 2), 0.05
    if value > 9:
        yield str(value // 10), 0.05
        yield str(value * 10), 0.05


def _float_choices(value: float) -> Iterator[tuple[str, float]]:
    for step in (value + 1, value - 1, 0.0, 1.0, value * 2, value / 2):
        yield repr(float(step)), 0.25
    yield f"-{value!r}", 0.25


def _place(source: Source, node: ast.Constant) -> float:
    """A number in a long table is seldom the one that is wrong."""
    parent = source.parents[node]
    return 3 / len(parent.elts) if isinstance(parent, ast.List | ast.Tuple | ast.Set) and len(parent.elts) > 3 else 1.0


def _numbers_by_function(source: Source) -> dict[ast.AST | None, list[str]]:
    found: dict[ast.AST | None, list[str]] = {}
    for node in source.of(ast.Constant):
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            texts = found.setdefault(source.function(node), [])
            if source.seg(node) not in texts:
                texts.append(source.seg(node))
    return found


def _strings_of(source: Source) -> list[str]:
    values = (node.value for node in source.of(ast.Constant) if isinstance(node.value, str))
    return [text for text in dict.fromkeys(values) if len(text) < 200]


def _string_choices(value: str, others: list[str]) -> Iterator[tuple[str, float]]:
    if value:
        yield "", 0.35 if value.isspace() else 0.2
    if value != " ":
        yield " ", 0.2 if not value or len(value) == 1 else 0.03
    for other in others:
        close = len(other) == len(value) or other.lower() == value.lower()
        yield other, (0.6 if close else 0.3) / max(2, len(others))
    for partner in _PARTNERS.get(value, ""):
        yield partner, 0.2
    for changed in dict.fromkeys((value.lower(), value.upper(), value.strip(), value[::-1])):
        yield changed, 0.1 if len(value) > 1 or value.isalpha() else 0.02
    if 1 < len(value) <= 40:
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :], 0.3 / len(value)
    if value.isalpha() and value.islower() and len(value) > 2:
        yield value + value.upper(), 0.1


def _quoted(source: Source, node: ast.Constant, text: str) -> str:
    """The text as a literal, in the quotes that the old one has."""
    literal = repr(text)
    old = source.seg(node)
    if old.endswith('"') and '"' not in text and "'" not in text:
        literal = f'"{literal[1:-1]}"'
    return literal


def _without(source: Source, node: ast.List | ast.Tuple | ast.Set, at: int) -> Edit:
    start, end = source.outer(node.elts[at])
    if at + 1 < len(node.elts):
        end = source.outer(node.elts[at + 1])[0]
    else:
        start = source.outer(node.elts[at - 1])[1]
    new = "," if isinstance(node, ast.Tuple) and len(node.elts) == 2 and at == 1 else ""
    why = f"`{source.seg(node.elts[at])}` is left out"
    return Edit(start, end, new, "elements", why, 0.3 / len(node.elts), source.unit(node))


def _swapped(source: Source, node: ast.List | ast.Tuple | ast.Set, at: int) -> Edit:
    (a, b), (c, d) = source.outer(node.elts[at]), source.outer(node.elts[at + 1])
    text = source.text
    why = f"`{text[a:b]}` and `{text[c:d]}` change places"
    constant = all(isinstance(element, ast.Constant) for element in node.elts)
    weight = 0.1 / len(node.elts) if constant else 0.5 / (len(node.elts) - 1)
    return Edit(a, d, text[c:d] + text[b:c] + text[a:b], "arguments", why, weight, source.unit(node))


def _list_choices(source: Source, node: ast.List) -> Iterator[Edit]:
    if not node.elts:
        returned = isinstance(source.parents[node], ast.Return)
        yield replace(source, node, "[[]]", "constant", 0.25 if returned else 0.06)
        yield replace(source, node, "[0]", "constant", 0.08)
        yield replace(source, node, "[1]", "constant", 0.08)
        function = source.function(node)
        if returned and isinstance(function, FUNCTIONS):
            for argument in function.args.args[:3]:
                yield replace(source, node, f"[{argument.arg}]", "return", 0.15)
                yield replace(source, node, argument.arg, "return", 0.1)
    else:
        yield replace(source, node, "[]", "constant", 0.1)
        if len(node.elts) == 1 and isinstance(node.elts[0], ast.List | ast.Name | ast.ListComp | ast.Call):
            yield replace(source, node, source.full(node.elts[0]), "constant", 0.15)


FAMILIES = (numbers, singletons, strings, empties, defaults)
