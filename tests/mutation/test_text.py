"""Positions hold in any text: line ends, tabs, form feeds, byte order marks, and what is not ASCII."""

from __future__ import annotations

import ast
import sys

import pytest

from graph_agent.mutation import mutants

PLAIN = """\
def total(items, limit):
    # how many
    n = 0
    for item in items:
        if item < limit:  # keep
            n += item
            n -= 1
    return n
"""

FORMS = {
    "as it is": PLAIN,
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "old Mac": PLAIN.replace("\n", "\r"),
    "tabs": PLAIN.replace("    ", "\t"),
    "form feed": PLAIN.replace("    n = 0", "\f    n = 0").replace("def", "\fdef"),
    "byte order mark": "\ufeff" + PLAIN,
    "no last line end": PLAIN.rstrip("\n"),
    "umlauts": PLAIN.replace("items", "größen").replace("limit", "λ").replace("# keep", "# wähle 𝒳"),
}


@pytest.fixture(params=FORMS)
def source(request: pytest.FixtureRequest) -> str:
    return FORMS[request.param]


def test_every_form_of_a_text_gives_the_same_mutants(source: str) -> None:
    mine = [(m.family, m.line) for m in mutants(source)]
    theirs = [(m.family, m.line) for m in mutants(PLAIN)]
    assert len(mine) > 100
    assert sorted(mine) == sorted(theirs)


def test_comments_stay_and_every_mutant_parses(source: str) -> None:
    for mutant in mutants(source):
        text = mutant.apply(source)
        ast.parse(text.removeprefix("\ufeff"))
        assert "# how many" in text
        assert text.startswith("\ufeff") == source.startswith("\ufeff")


def test_new_lines_end_as_the_others_do(source: str) -> None:
    ends = [line[len(line.rstrip("\r\n")) :] for line in source.splitlines(keepends=True)]
    for mutant in mutants(source):
        text = mutant.apply(source)
        assert {line[len(line.rstrip("\r\n")) :] for line in text.splitlines(keepends=True)} <= {*ends, ""}


def test_the_operator_is_found_behind_what_is_not_ascii() -> None:
    source = "x = 'ä𝒳' if größe < λ else 'ö'\n"
    assert "x = 'ä𝒳' if größe <= λ else 'ö'\n" in {m.apply(source) for m in mutants(source)}


def test_the_operator_is_found_between_parentheses_comments_and_line_ends() -> None:
    source = "x = ((a)  # one < two\n  \\\n   <  # >\n (b))\n"
    changed = source.replace("   <  ", "   <=  ")
    assert changed in {m.apply(source) for m in mutants(source)}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before 3.12 Python does not say where it stands")
def test_what_stands_in_an_f_string_is_changed_in_its_place() -> None:
    source = 'def f(a, b):\n    return f"{a + b:>{a}} and {b}"\n'
    texts = {m.apply(source) for m in mutants(source)}
    assert 'def f(a, b):\n    return f"{a - b:>{a}} and {b}"\n' in texts


def test_a_string_over_several_lines_is_never_indented() -> None:
    source = 'def f(a):\n    for b in a:\n        c = 1\n        d = """\n    x\n  y"""\n    return d\n'
    for mutant in mutants(source):
        assert '"""\n    x\n  y"""' in mutant.apply(source) or mutant.family in {"string", "delete", "name", "wrap"}


def test_statements_that_share_a_line_are_not_torn_apart() -> None:
    source = "def f(a):\n    b = 1; c = 2\n    if a: b = c\n    return b\n"
    for mutant in mutants(source):
        assert mutant.apply(source).count("\n") >= 3
