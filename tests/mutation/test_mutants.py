"""What holds for every mutant of every source: it parses, it is new, and it leaves the rest of the text alone."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent.mutation import MutationError, candidates, mutants
from graph_agent.protocols import GraphAgentError

pytestmark = pytest.mark.slow

SMALL_MODULES = ("bisect", "colorsys", "genericpath", "sched", "fnmatch", "keyword", "reprlib", "queue")

TANGLED = '''\
import os
class Box:
    """A doc string with `code < 1`."""
    size: int = 3
    def __init__(self, left=None, *rest, deep=False, **more):
        self.left = left; self.right = [x for x in rest if x]
        if deep: self.depth = 1
        elif rest and not left: self.depth = (2)
        else: self.depth = 0
    @property
    def total(self) -> int:
        try:
            return sum(self.right[1:-1]) / len(self.right)
        except (ZeroDivisionError, TypeError) as error:
            raise ValueError(f"empty: {self.depth + 1!r:>{self.size}}") from error
        finally:
            pass
def pick(kind, items, *, start=0):
    match kind:
        case "first" if items: return items[start]
        case [a, b]: found = a + b
        case _:
            found = (lambda n: n * 2)(start)
    while True:
        with open(os.devnull) as f, open(os.devnull) as g:
            if not f.read() and (found := found - 1) < 0: break
    else:
        yield from items
    async def later(): return await g
    yield {k: v for k, v in zip("ab", items)}, (i for i in items), found if kind is not None else -start
'''


def tree_of(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(text.removeprefix("\ufeff")))


def check_all(source: str, within: tuple[int, int] | None = None) -> int:
    seen = {tree_of(source)}
    made = list(mutants(source, within=within))
    for mutant in made:
        text = mutant.apply(source)
        tree = tree_of(text)
        assert tree not in seen, f"{mutant} is not new"
        seen.add(tree)
        assert text[: mutant.start] == source[: mutant.start]
        assert text[mutant.start + len(mutant.new) :] == source[mutant.end :]
        assert mutant.why and mutant.family and mutant.line >= 1
    return len(made)


def test_every_mutant_of_a_tangled_source_parses_and_is_new() -> None:
    assert check_all(TANGLED) > 300


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(SMALL_MODULES), at=st.floats(0, 1))
def test_every_mutant_of_real_code_parses_and_is_new(name: str, at: float) -> None:
    source = inspect.getsource(importlib.import_module(name))
    first = 1 + int(at * source.count("\n"))
    check_all(source, within=(first, first + 1))


names = st.sampled_from(["a", "b", "xs", "n"])
atoms = st.one_of(names, st.integers(0, 3).map(str), st.sampled_from(["xs[0]", "len(xs)", "''", "True", "[]", "(a)"]))
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "//", "<", "==", "in", "and", "or", "if b else"]), inner).map(
            " ".join
        ),
        inner.map("({})".format),
        inner.map("(not {})".format),
        st.tuples(inner, inner).map("max({0[0]}, {0[1]})".format),
    ),
    max_leaves=3,
)
statements = st.one_of(
    expressions.map("a = {}".format),
    expressions.map("n += {}".format),
    expressions.map("xs.append({})".format),
    expressions.map("return {}".format),
    st.tuples(expressions, expressions).map("if {0[0]}:\n        b = {0[1]}\n        n -= 1".format),
    expressions.map("for a in range({}):\n        xs.append(a)".format),
    expressions.map("while {}:\n        n -= 1\n        break".format),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=st.lists(statements, min_size=1, max_size=2), last=st.booleans())
def test_every_mutant_of_made_up_code_parses_and_is_new(body: list[str], last: bool) -> None:
    source = "def f(a, b, xs, n):\n    " + "\n    ".join(body) + ("\n" if last else "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_all(source)


def test_the_same_source_gives_the_same_mutants_in_the_same_order() -> None:
    assert list(mutants(TANGLED)) == list(mutants(TANGLED))


def test_mutants_come_line_by_line() -> None:
    lines = [mutant.line for mutant in mutants(TANGLED)]
    assert lines == sorted(lines)


def test_the_likeliest_of_a_line_comes_first() -> None:
    first = next(mutants("def f(a, b):\n    return a < b\n", within=(2, 2)))
    assert (first.family, first.new, first.why) == ("comparison", "<=", "`<` becomes `<=`")


def test_within_keeps_to_its_lines_both_included() -> None:
    everything = [mutant for mutant in mutants(TANGLED) if 7 <= mutant.line <= 9]
    assert list(mutants(TANGLED, within=(7, 9))) == everything != []


def test_annotations_imports_decorators_and_docstrings_stay() -> None:
    source = (
        "from a import b\n@b(1)\ndef f(x: int = 2) -> 'int':\n"
        '    """Say 1 < 2."""\n    y: list[int] = x\n    return y\n'
    )
    for mutant in mutants(source):
        text = mutant.apply(source)
        assert "from a import b\n@b(1)\ndef f(x: int = " in text and ") -> 'int'" in text
        assert '"""Say 1 < 2."""' in text


def test_a_source_that_does_not_parse_is_an_error_at_once() -> None:
    with pytest.raises(MutationError, match=r"line 2: .*mend the file"):
        mutants("x = 1\nif x\n")
    assert issubclass(MutationError, GraphAgentError)


@pytest.mark.parametrize("text", ["x = 1\0", "x = '\ud800'", "(" * 500 + ")" * 500, "x = " + "-" * 100_000 + "1"])
def test_text_that_python_cannot_even_read_is_the_same_error(text: str) -> None:
    with pytest.raises(MutationError, match="does not parse"):
        mutants(text)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", '"""Only a docstring."""\n', "import os\n", "pass\n"])
def test_a_source_with_nothing_to_change_gives_nothing(text: str) -> None:
    assert list(mutants(text)) == []


def test_an_odd_escape_in_the_source_is_no_warning() -> None:
    source = 'def f(a):\n    return a < 1 or "\\d"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert any(mutant.new == "<=" for mutant in mutants(source))


def test_a_source_too_deep_for_python_to_walk_is_an_error_that_says_so() -> None:
    source = "x = " + "a + " * 3_000 + "a\n"
    with pytest.raises(MutationError, match="nested"):
        mutants(source)


def test_threads_may_make_candidates_side_by_side() -> None:
    source = Path(textwrap.__file__).read_text(encoding="utf-8")
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda n: [c.mutant for c in islice(candidates({f"{n}.py": source}), 9)], range(3)))
    assert found == [found[0]] * 3
