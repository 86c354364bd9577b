"""One name for another: a variable, an attribute, a target; a name for an expression; another thing returned.

What holds the same sort of thing is mixed up most, and a name that nobody reads is probably the one that is missing.
The rule: names come from the scope at that place, so that a mutant fails for what it does and not for a `NameError`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from .scope import BOOL, CONTAINER, FUNCTION, NUMBER, TEXT, Code, Variable, kind_of
from .source import Edit, called, is_int, is_stored, names_in

_MOST_NAMES = 12


def variables(source: Code) -> Iterator[Edit]:
    """A variable becomes another one, where it is read and where it is bound."""
    for node in source.of(ast.Name):
        parent = source.parents[node]
        if is_stored(node):
            if isinstance(parent, ast.Assign | ast.AugAssign):
                others = [v for v in source.local(node, {node.id}) if not _is_counter(source, node, v)]
                for other in others:
                    share = 0.5 * source.fit(source.kinds(node), other) / (len(others) + 1)
                    yield source.replace(node, other.name, "target", share)
        elif getattr(parent, "func", None) is not node:
            there = source.find(node, node.id)
            known = there.kinds if there else set()
            fits = [(source.fit(known, v), v.name) for v in source.visible(node) if v.name != node.id]
            for fit, name in sorted(fits, key=lambda pair: -pair[0])[:_MOST_NAMES]:
                twins = there is not None and _twins(node.id, name)
                share = fit * (1.7 if twins else 1.1) / max(2, len(fits) + 1)
                yield source.replace(node, name, "name", min(0.6, share))


def attributes(source: Code) -> Iterator[Edit]:
    """`thing.left` becomes `thing.right` or `thing`, when the source has both on something."""
    seen: dict[bool, dict[str, None]] = {False: {}, True: {}}
    for node in source.of(ast.Attribute):
        seen[_is_callee(source, node)][node.attr] = None
    for node in source.of(ast.Attribute):
        callee, end = _is_callee(source, node), source.span(node)[1]
        others = [name for name in seen[callee] if name != node.attr]
        for name in others:
            weight = (0.3 if callee else 1.0) / (len(others) + 1)
            yield Edit(end - len(node.attr), end, name, "attribute", weight, source.unit(node))
        if not callee:
            yield source.replace(node, source.full(node.value), "attribute", 0.15)


def constants_and_names(source: Code) -> Iterator[Edit]:
    """A number becomes a variable that holds one, or the length of something; a string the name that it spells."""
    for node in source.of(ast.Constant, ast.Name):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and source.find(node, node.value):
            yield source.replace(node, node.value, "name", 0.5)
        if is_int(node):
            yield from source.each(node, source.numbers(node), (("", "", 0.17),), "name")
        if is_int(node) or (isinstance(node, ast.Name) and not is_stored(node) and NUMBER in source.kinds(node)):
            yield from source.each(node, source.containers(node), (("len(", ")", 0.17),), "name")


def expressions(source: Code) -> Iterator[Edit]:
    """An expression gives way to a variable: most often one that is returned or kept, else one that is passed on."""
    for node, parent in source.values():
        kept = isinstance(parent, ast.Return | ast.Assign | ast.AugAssign)
        if isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and not kept):
            continue
        others = [v for v in source.local(node) if FUNCTION not in v.kinds and not _is_counter(source, node, v)]
        constant = isinstance(node, ast.Constant)
        if isinstance(parent, ast.Return):
            yield from source.each(node, others, (("", "", 0.4 if constant else 0.7),), "return")
            if isinstance(node, ast.Constant) and isinstance(node.value, bool):
                for v in others:
                    form = ("", " == 0", 0.4) if NUMBER in v.kinds else ("not ", "", 0.2 if v.parameter else 0.7)
                    yield from source.each(node, [v], (form,), "return")
        else:
            often = constant and source.loops(node)
            yield from source.each(node, others, (("", "", 0.4 if often else 0.2),), "name")


def _is_callee(source: Code, node: ast.AST) -> bool:
    return getattr(source.parents[node], "func", None) is node


def _is_counter(source: Code, node: ast.AST, variable: Variable) -> bool:
    """Whether a loop around the node counts with the variable, so that to assign or return it is seldom meant."""
    loops = [loop for loop in source.loops(node) if isinstance(loop, ast.For)]
    return NUMBER in variable.kinds and any(variable.name in names_in(loop.target) for loop in loops)


def _twins(first: str, second: str) -> bool:
    """Names that are told apart with difficulty: i and j, lst1 and lst2, min_sum and max_sum."""
    digits = "0123456789"
    same = first.rstrip(digits) == second.rstrip(digits)
    return len(first) == len(second) == 1 or same or bool({*first.split("_")} & {*second.split("_")})


_CIRCLES = [
    line.split()
    for line in """
min max
any all
sum len max min
sorted reversed list set
list tuple set
int round float
str repr
chr ord
bin hex oct
filter map
floor ceil
range enumerate len
permutations combinations product
heappush heappop
bisect_left bisect_right
lower upper title capitalize swapcase
islower isupper isalpha isalnum isdigit isspace
append extend add
append appendleft
pop popleft
pop remove
startswith endswith
find rfind index
lstrip rstrip strip
split rsplit splitlines
removeprefix removesuffix
ljust rjust center
keys values items
get pop setdefault
union intersection difference symmetric_difference
issubset issuperset
add discard remove
add update
search match fullmatch findall
days seconds total_seconds
""".strip().split("\n")
]
_ADDED = {
    "sorted": {"reverse=True": 0.3},
    "sort": {"reverse=True": 0.3},
    "enumerate": {"start=1": 0.25},
}
_WRAPPERS = {
    NUMBER: {"abs": 0.04, "int": 0.04, "str": 0.04, "round": 0.03},
    CONTAINER: {
        "sorted": 0.08,
        "set": 0.07,
        "len": 0.07,
        "list": 0.04,
        "reversed": 0.04,
        "sum": 0.03,
        "max": 0.02,
        "min": 0.02,
    },
    TEXT: {"int": 0.06, "float": 0.04},
    BOOL: {"not ": 0.04},
}


def arguments(source: Code) -> Iterator[Edit]:
    """Two arguments change places, one is left out, or a usual keyword is added."""
    for node in source.of(ast.Call):
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        for first, second in pairwise(plain):
            same = called(node) in {"min", "max", "isinstance"}
            yield source.swap(first, second, "arguments", 0.1 if same else 0.6 / (len(plain) - 1))
        given: list[ast.AST] = [*node.args, *node.keywords]
        generated = any(isinstance(argument, ast.GeneratorExp) for argument in given)
        for at in range(0 if generated else len(given)):
            yield source.without(given, at, "arguments", 0.3 / len(given) if len(given) > 1 else 0.08)
        for text, weight in _ADDED.get(called(node), {}).items():
            if not generated and len(given) < 2:
                at = source.span(node)[1] - 1
                new = f", {text}" if given else text
                yield Edit(at, at, new, "arguments", weight, source.unit(node))


def siblings(source: Code) -> Iterator[Edit]:
    """A function or method becomes another one of its circle, or another one of the module with as many parameters."""
    functions = source.functions
    for node in source.of(ast.Call):
        name, end = called(node), source.span(node.func)[1]
        others = {other: 0.8 for circle in _CIRCLES if name in circle for other in circle if other != name}
        if isinstance(node.func, ast.Name) and name in functions:
            others |= {f: 0.6 for f in functions if f != name and _takes(functions[f].args, node)}
        for other, weight in others.items():
            unit = source.unit(node)
            yield Edit(end - len(name), end, other, "call", weight / (1 + len(others)), unit)


def unwrapped(source: Code) -> Iterator[Edit]:
    """A call gives way to its argument, or a method call to what it was called on."""
    for node in source.of(ast.Call):
        for argument in node.args[:3]:
            if not isinstance(argument, ast.Starred | ast.GeneratorExp):
                usual = 0.4 if isinstance(node.func, ast.Name) else 0.15
                yield source.replace(node, source.full(argument), "unwrap", usual / len(node.args))
        if not isinstance(node.func, ast.Attribute) or isinstance(source.parents[node], ast.Expr):
            continue
        lettered = kind_of(node) == TEXT or called(node) in {"sort", "reverse"}
        yield source.replace(node, source.full(node.func.value), "unwrap", 0.4 if lettered else 0.12)


def wrapped(source: Code) -> Iterator[Edit]:
    """An expression is put into `abs`, `len`, `sorted`, `set`, `int` and the like, or gets `.lower()` or `.strip()`."""
    for node, parent in source.values():
        inside = source.seg(node)
        inside = inside[1:-1] if isinstance(node, ast.GeneratorExp) and inside.startswith("(") else inside
        near = 2.0 if isinstance(parent, ast.Return | ast.Compare | ast.For | ast.comprehension) else 1.0
        for kind, calls in _WRAPPERS.items():
            for call in calls if not isinstance(node, ast.Constant) and source.may_be(node, kind) else ():
                likely = isinstance(node, ast.BinOp) and call in {"abs", "int"}
                if call not in {called(parent), called(node)}:
                    yield source.replace(node, f"{call}({inside})", "wrap", near * (0.12 if likely else calls[call]))
        if source.may_be(node, TEXT) and not isinstance(node, ast.Constant):
            for method, weight in (("lower", 0.08), ("upper", 0.06), ("strip", 0.06)):
                yield source.replace(node, f"{source.operand(node)}.{method}()", "wrap", weight)


def bounded(source: Code) -> Iterator[Edit]:
    """`best = x` becomes `best = max(best, x)`."""
    for node in source.of(ast.Assign):
        if source.loops(node) and called(node.value) not in {"max", "min"} and len(node.targets) == 1:
            for call in ("max", "min"):
                new = f"{call}({source.seg(node.targets[0])}, {source.full(node.value)})"
                yield source.replace(node.value, new, "wrap", 0.08)


def _takes(parameters: ast.arguments, call: ast.Call) -> bool:
    most = len(parameters.posonlyargs) + len(parameters.args)
    return most - len(parameters.defaults) <= len(call.args) + len(call.keywords) <= most


FAMILIES = (variables, attributes, constants_and_names, expressions, arguments, siblings, unwrapped, wrapped, bounded)
