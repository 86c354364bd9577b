"""Each family finds the fix that it is there for: a source, and a text that must be among its mutants."""

from __future__ import annotations

import pytest

from graph_agent.mutation import mutants


def function(body: str, head: str = "f(a, b, xs, n)") -> str:
    return f"def {head}:\n" + "".join(f"    {line}\n" for line in body.split("\n"))


ONE_LINE = {
    "comparison": [
        ("return a < b", "return a <= b"),
        ("return a == b", "return a != b"),
        ("return a is b", "return a is not b"),
    ],
    "operator and constant": [("return a > 0", "return a >= 1")],
    "arithmetic": [
        ("return a + b", "return a - b"),
        ("return a / b", "return a // b"),
        ("return a % 2", "return a // 2"),
    ],
    "bitwise": [("return a ^ b", "return a & b"), ("return a << 1", "return a >> 1")],
    "boolean": [("return a and b", "return a or b"), ("return a or b or n", "return a and b and n")],
    "augmented": [("n += 1", "n -= 1"), ("n += 1", "n = 1"), ("n -= 2", "n //= 2")],
    "unary": [("return -a", "return a"), ("return a", "return -a"), ("return not a", "return a")],
    "operands": [("return a - b", "return b - a"), ("return a + b", "return a"), ("return n - 1", "return n")],
    "constant": [("return 4", "return 5"), ("return 0", "return 1"), ("n = 1", "n = -1"), ("n = 1.0", "n = 0.0")],
    "singletons": [("return True", "return False"), ("return None", "return []"), ("return []", "return [[]]")],
    "strings": [
        ("return ''", "return ' '"),
        ("return a == 'x' or 'y'", "return a == 'y' or 'y'"),
        ("return 'Ab'", "return 'ab'"),
    ],
    "elements": [
        ("return (1, 2, 4)", "return (1, 4)"),
        ("return (a, b)", "return (b, a)"),
        ("return (a, b)", "return (a,)"),
    ],
    "name": [("return a", "return b"), ("return len(a)", "return len(b)"), ("return max(a, b)", "return max(a, n)")],
    "name and constant": [("return 2 * a", "return n * a"), ("return n / 2", "return len(xs) / 2")],
    "target": [("n = a\nreturn xs", "xs = a\nreturn xs")],
    "attribute": [("return a.left or b.right", "return a.right or b.right"), ("return a.x", "return a")],
    "arguments": [
        ("return f(a, b)", "return f(b, a)"),
        ("return f(a, b)", "return f(a)"),
        ("return sorted(xs)", "return sorted(xs, reverse=True)"),
    ],
    "siblings": [
        ("return min(a, b)", "return max(a, b)"),
        ("return a.lower()", "return a.upper()"),
        ("xs.append(a)", "xs.extend(a)"),
    ],
    "unwrap": [("return int(a)", "return a"), ("return a.strip()", "return a")],
    "wrap": [
        ("return a - b", "return abs(a - b)"),
        ("return xs", "return len(xs)"),
        ("return len(xs)", "return len(set(xs))"),
        ("return [x for x in xs]", "return sorted([x for x in xs])"),
        ("return n / 2", "return int(n / 2)"),
        ("return max(x for x in xs)", "return max(abs(x) for x in xs)"),
    ],
    "offset": [
        ("return xs[n]", "return xs[n - 1]"),
        ("return xs[n]", "return xs[n + 1]"),
        ("return range(n)", "return range(n + 1)"),
        ("return len(xs)", "return len(xs) - 1"),
        ("return a * n", "return a * (n - 1)"),
        ("return f(n)", "return f(n - 1)"),
    ],
    "term": [
        ("return f(a, b, xs, n)", "return f(a, b, xs, n - b)"),
        ("return n", "return n + b"),
    ],
    "slice": [
        ("return xs[n:]", "return xs[:n]"),
        ("return xs[1:n]", "return xs[1:]"),
        ("return xs[1:n]", "return xs[:n]"),
        ("return xs[n:]", "return xs"),
        ("return xs[::-1]", "return xs[:]"),
        ("for x in xs: f(x)", "for x in xs[1:]: f(x)"),
        ("return sum(xs)", "return sum(xs[:n])"),
        ("return xs[:n]", "return xs[:n - 1]"),
    ],
    "range": [
        ("return range(n)", "return range(1, n)"),
        ("return range(n)", "return range(1, n + 1)"),
        ("return range(1, n)", "return range(n)"),
    ],
    "index": [("return xs[n]", "return xs")],
    "negated": [("if a: n = 1", "if not a: n = 1"), ("return a and b", "return a and not b")],
    "weakened": [
        ("return a and b", "return a"),
        ("return a and b", "return b"),
        ("return [x for x in xs if x]", "return [x for x in xs ]"),
    ],
    "strengthened": [
        ("if not a: return 1", "if not a or not xs: return 1"),
        ("if a.x is None: return 1", "if a is None or a.x is None: return 1"),
        ("if a: n = 1\nif b > 2: n = 2", "if a and b > 2: n = 1\nif b > 2: n = 2"),
    ],
    "loop condition": [("while True: n = xs.pop()", "while xs: n = xs.pop()")],
    "returned": [("return a + 1", "return n")],
    "settled": [("return True", "return not xs"), ("return n // 2 or 'n'", "return n // 2 or n")],
    "sort key": [("return sorted(xs, key=lambda x: (x[1], x))", "return sorted(xs, key=lambda x: (-x[1], x))")],
    "left out of a chain": [("return a + b * n - 1", "return a + b - 1"), ("return a ** 2 * n", "return a ** n")],
    "unread": [("return max(a[0], xs[n])", "return max(a[0], xs[n] + b)")],
    "bounded": [("for x in xs: n = x", "for x in xs: n = max(n, x)")],
    "exits": [("for x in xs: break", "for x in xs: continue")],
}


@pytest.mark.parametrize(
    ("family", "before", "after"), [(family, *pair) for family, pairs in ONE_LINE.items() for pair in pairs]
)
def test_a_family_finds_its_fix(family: str, before: str, after: str) -> None:
    source = function(before)
    assert function(after) in {mutant.apply(source) for mutant in mutants(source)}, family


BLOCKS = {
    "deleted": ("n = 1\nxs.append(n)\nreturn xs", "n = 1\nreturn xs"),
    "the only one deleted": ("if a:\n    n = 2\nreturn n", "if a:\n    pass\nreturn n"),
    "two deleted": ("n = a\nn = b\nn = n\nreturn n", "n = n\nreturn n"),
    "swapped": ("n = a\na = b\nreturn n", "a = b\nn = a\nreturn n"),
    "moved out": ("for x in xs:\n    n += x\n    return n", "for x in xs:\n    n += x\nreturn n"),
    "moved in": ("for x in xs:\n    n = x\nb += n\nreturn b", "for x in xs:\n    n = x\n    b += n\nreturn b"),
    "moved into the start": ("n = 0\nfor x in xs:\n    n += x", "for x in xs:\n    n = 0\n    n += x"),
    "condition dropped": ("if a:\n    n = 1\nreturn n", "n = 1\nreturn n"),
    "forgotten return": ("if a:\n    return 1\nf(a, b, xs, n)", "if a:\n    return 1\nreturn f(a, b, xs, n)"),
    "forgotten yield from": ("yield a\nf(a, b, xs, n)", "yield a\nyield from f(a, b, xs, n)"),
    "return that should yield": ("yield a\nreturn b", "yield a\nyield b"),
    "end without return": (
        "for x in xs:\n    if x:\n        return True",
        "for x in xs:\n    if x:\n        return True\nreturn False",
    ),
    "break is missing": (
        "for x in xs:\n    if x:\n        n = x\nreturn n",
        "for x in xs:\n    if x:\n        n = x\n        break\nreturn n",
    ),
    "base case from a sibling": (
        "if not a:\n    return b\nreturn f(a, b, xs, n)",
        "if not a:\n    return b\nif not b:\n    return a\nreturn f(a, b, xs, n)",
    ),
    "append behind the loop": (
        "out = []\nfor x in xs:\n    if a:\n        out.append(x)\nreturn out",
        "out = []\nfor x in xs:\n    if a:\n        out.append(x)\nout.append(x)\nreturn out",
    ),
    "another append": ("xs.append(a)\nreturn xs", "xs.append(a)\nxs.append(b)\nreturn xs"),
    "visited is never filled": (
        "seen = set()\nfor x in xs:\n    if x in seen:\n        return x\nreturn n",
        "seen = set()\nfor x in xs:\n    if x in seen:\n        return x\n    seen.add(x)\nreturn n",
    ),
    "the loop's variable never moves": ("while n:\n    xs.append(a)", "while n:\n    xs.append(a)\n    n -= 1"),
    "a counter never moves": (
        "t = 0\nfor x in xs:\n    if x:\n        a = x\nreturn t",
        "t = 0\nfor x in xs:\n    if x:\n        a = x\n        t += 1\nreturn t",
    ),
    "what is carried over never changes": (
        "last = None\nfor x in xs:\n    if x != last:\n        n += 1\nreturn n",
        "last = None\nfor x in xs:\n    if x != last:\n        n += 1\n    last = x\nreturn n",
    ),
    "gathered with its guard": (
        "out = []\nfor x in xs:\n    if n:\n        out.append(n)\nreturn out",
        "out = []\nfor x in xs:\n    if n:\n        out.append(n)\nif n:\n    out.append(n)\nreturn out",
    ),
    "if that should be while": ("if n > 1:\n    n -= 1\nreturn n", "while n > 1:\n    n -= 1\nreturn n"),
    "the result is lost": ("f(xs, a, b, n)\nreturn xs", "xs = f(xs, a, b, n)\nreturn xs"),
    "a first guard": (
        "return xs[0] + f(a, b, xs[1:], n)",
        "if not xs:\n    return 0\nreturn xs[0] + f(a, b, xs[1:], n)",
    ),
    "accumulates": ("t = 0\nfor x in xs:\n    t = x\nreturn t", "t = 0\nfor x in xs:\n    t += x\nreturn t"),
    "a branch that can't be reached": (
        "if n % 3 == 0:\n    a = 1\nelif n % 3 != 0:\n    a = 2\nelse:\n    a = 3",
        "if n % 3 == 0:\n    a = 1\nelif n % 4 == 0:\n    a = 2\nelse:\n    a = 3",
    ),
}


@pytest.mark.parametrize("family", BLOCKS)
def test_a_family_of_statements_finds_its_fix(family: str) -> None:
    before, after = (function(text) for text in BLOCKS[family])
    assert after in {mutant.apply(before) for mutant in mutants(before)}


def test_a_method_is_called_in_place_of_another_of_the_module() -> None:
    source = "def one(a):\n    return two(a)\ndef two(a):\n    return a\ndef three(a):\n    return a\n"
    assert source.replace("two(a)\ndef", "three(a)\ndef", 1) in {m.apply(source) for m in mutants(source)}


def test_a_name_that_nothing_binds_becomes_one_that_is_there() -> None:
    source = "def f(length):\n    return lenght\n"
    assert "def f(length):\n    return length\n" in {m.apply(source) for m in mutants(source)}


def test_a_handler_and_a_case_have_mutants() -> None:
    source = "def f(a):\n    try:\n        return a[1]\n    except (KeyError, E(2)):\n        return 0\n"
    assert source.replace("E(2)", "E(3)") in {m.apply(source) for m in mutants(source)}
    source = "def f(a):\n    match a:\n        case [1, b] if b > 2:\n            return b\n"
    texts = {m.apply(source) for m in mutants(source)}
    assert source.replace("b > 2", "b >= 2") in texts


def test_a_comment_moves_with_its_statement() -> None:
    source = function("for x in xs:\n    n += x\n    a = n  # last\nreturn a")
    moved = function("for x in xs:\n    n += x\na = n  # last\nreturn a")
    assert moved in {m.apply(source) for m in mutants(source)}


@pytest.mark.parametrize("behind", ["def g(a):\n    return a\n", "g = f\n", "class C:\n    pass\n"])
def test_a_line_is_added_at_a_function_s_end_with_no_blank_line_behind_it(behind: str) -> None:
    body = function("for x in xs:\n    if x:\n        return True")
    texts = {m.apply(body + behind) for m in mutants(body + behind)}
    assert body + "    return False\n" + behind in texts


def test_top_level_statements_and_methods_have_mutants_of_their_own() -> None:
    source = "total = 0\nfor x in [1, 2]:\n    total += x\nprint(total)\n"
    texts = {m.apply(source) for m in mutants(source)}
    assert source.replace("print", "    print") in texts
    assert source.replace("total += x", "total = x") in texts
    method = "class C:\n    def f(self, n):\n        self.a = n\n        self.b = n\n"
    method += "    def g(self):\n        return self.a\n"
    texts = {m.apply(method) for m in mutants(method)}
    assert method.replace("        self.b = n\n", "") in texts
    assert method.replace("return self.a", "return self.b") in texts
