"""The second layer: does a result's evidence exist, and does it say what is quoted and counted?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.evidence import check_quote, evidence_problems, folded
from graph_agent.verify.report import Verdict

EVIDENCE = {
    "E1": "The limit is 25 steps\n   by default. It was 20 until 2019.",
    "E2": "Runs are kept for 30 days; then\tthey go ... for ever. Say \u201cnever\u201d.",
    "E4": "\u4e0a\u9650\u662f25\u6b65\u3002\u4ee5\u524d\u662f 1,000 \u6b65\u3002",
}

HOLDS = [
    "The limit is 25 [E1].",
    'It says "limit is 25 steps by default" [E1].',
    'It says "limit  is\n25 steps" [E1].',
    "> The limit is 25 steps by default. [E1]",
    "> The limit is 25 steps\n> by default. [E1]",
    'It says "Runs are kept" [E1, E2].',
    "It is 25 now and 30 there [E1][E2].",
    "Steps: \uff12\uff15 [E1].",
    "\u6587\u4ef6\u8bf4\u300c\u4e0a\u9650\u662f25\u6b65\u300d[E4]\u3002",
    "\u4ee5\u524d\u662f1000\u6b65[E4]\u3002",
    'It says "they go ... for ever" [E2].',
    "1. The limit [E1]\n2. Runs [E2]\n3. Steps [E4]",
    "Not cited, which is another layer's to say: 999.",
]


@pytest.mark.parametrize("text", HOLDS)
def test_what_stands_in_what_it_cites_holds(text: str) -> None:
    assert evidence_problems(text, EVIDENCE) == ()


FAILS = [
    ("The limit is 25 [E3].", "there is no evidence E3"),
    ("The limit is 25 [E1] [E9].", "there is no evidence E9"),
    ("The limit is 25 [E1-E4].", "there is no evidence E3"),
    ('It says "limit is 50 steps" [E1].', "the quote 'limit is 50 steps' does not stand in E1"),
    ('It says "Limit is 25 steps" [E1].', "the quote 'Limit is 25 steps' does not stand in E1"),
    ('It says "limit is 25, steps" [E1].', "the quote 'limit is 25, steps' does not stand in E1"),
    ('It says "Runs are kept" [E1].', "the quote 'Runs are kept' does not stand in E1"),
    ('It says "Runs for ever" [E1, E2].', "the quote 'Runs for ever' does not stand in E1 or E2"),
    ('It says "2019. Runs are kept" [E1, E2].', "the quote '2019. Runs are kept' does not stand in E1 or E2"),
    ("> The limit is 26 steps by default. [E1]", "the quote 'The limit is 26 steps by default.' does not stand in E1"),
    ("> The limit **is** 25 steps. [E1]", "the quote 'The limit **is** 25 steps.' does not stand in E1"),
    ('It says " " [E1].', "the quote ' ' does not stand in E1"),
    ("The limit is 30 [E1].", "the number 30 does not occur in E1"),
    ("The limit is 2 [E1].", "the number 2 does not occur in E1"),
    ("\u4e0a\u9650\u662f26\u6b65\u3002[E4]", "the number 26 does not occur in E4"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), FAILS)
def test_what_does_not_is_named(text: str, problem: str) -> None:
    assert any(one.startswith(problem) for one in evidence_problems(text, EVIDENCE))


def test_an_ellipsis_bridges_nothing_and_the_writer_is_told_how_to_do_it() -> None:
    for between in ("...", "\u2026", " [...] "):
        (problem,) = evidence_problems(f'It says "The limit{between}by default" [E1].', EVIDENCE)
        assert "each piece by itself" in problem
    assert evidence_problems('It says "The limit" and "by default" [E1].', EVIDENCE) == ()


def test_a_block_of_code_stands_in_what_the_result_cites() -> None:
    said = "The limit is set so [E1].\n\n```ini\n{}\n```\n"
    evidence = {"E1": "Write\n\n    [run]\n    limit = 25\n\nfor that.", "E2": "limit = 26"}
    assert evidence_problems(said.format("[run]\nlimit = 25"), evidence) == ()
    assert evidence_problems(said.format(""), evidence) == ()
    for text in (said.format("limit = 26"), "The limit is set so [E1].\n~~~\nlimit = 26, and I say so."):
        (problem,) = evidence_problems(text, evidence)
        assert problem.startswith("the block 'limit = 26") and "does not stand in E1" in problem
    (problem,) = evidence_problems("```\nAnything at all.\n```", evidence)
    assert "does not stand in any evidence" in problem


def test_one_failure_is_not_made_good_by_what_holds() -> None:
    text = 'It is 25 [E1]. It says "Runs are kept" [E2]. It was 21 [E1]. It says "25 steps" [E2].'
    assert [one.split(":")[0] for one in evidence_problems(text, EVIDENCE)] == [
        "the number 21 does not occur in E1",
        "the quote '25 steps' does not stand in E2",
        "the number 25 does not occur in E2",
    ]


def test_an_unknown_id_is_told_with_those_that_there_are() -> None:
    (problem,) = evidence_problems("The limit is 25 [E11].", EVIDENCE)
    assert problem == "there is no evidence E11, did you mean 'E1'?: cite what there is, of E1, E2, E4"
    (problem,) = evidence_problems("The limit is 25 [E1].", {})
    assert problem.endswith("of none")
    (problem,) = evidence_problems("It is so [E99].", {f"E{n}": "" for n in range(1, 21)})
    assert problem.endswith("E12 and 8 more")


def test_with_an_unknown_id_nothing_else_is_looked_for() -> None:
    (problem,) = evidence_problems('It says "25 or so" in 999 places [E1] [E9].', EVIDENCE)
    assert problem.startswith("there is no evidence E9")


def test_an_unknown_id_that_stands_with_no_statement_is_told_too() -> None:
    (problem,) = evidence_problems("[E9] [E8]\n\n---\n", {"E8": "x"})
    assert problem.startswith("there is no evidence E9")


QUOTES = [
    ("E1", "limit is  25 steps", Verdict.PASS),
    ("E1", "steps by default", Verdict.PASS),
    ("E2", "then they\ngo", Verdict.PASS),
    ("E1", "limit is 50 steps", Verdict.FAIL),
    ("E1", "LIMIT", Verdict.FAIL),
    ("E1", "25steps", Verdict.FAIL),
    ("E1", "", Verdict.UNKNOWN),
    ("E1", " \n\t", Verdict.UNKNOWN),
    ("E3", "limit", Verdict.UNKNOWN),
    ("", "limit", Verdict.UNKNOWN),
    ("E2", 'Say "never"', Verdict.FAIL),
]


@pytest.mark.parametrize(("name", "quote", "verdict"), QUOTES)
def test_a_quote_is_found_or_not_or_can_not_be_looked_for(name: str, quote: str, verdict: Verdict) -> None:
    assert check_quote(name, quote, EVIDENCE) is verdict


BLANKS = st.text(" \t\n\r\u00a0\u3000\u2009", min_size=1, max_size=4)


@st.composite
def cut_quotes(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and some of its words in a row with other white space between and around them."""
    words = draw(st.lists(st.text("abXY25.,\u4e0a\u9650\u00e9", min_size=1, max_size=5), min_size=1, max_size=12))
    source = "".join(word + draw(BLANKS) for word in words)
    first = draw(st.integers(0, len(words) - 1))
    chosen = words[first : draw(st.integers(first, len(words) - 1)) + 1]
    return source, draw(BLANKS) + "".join(word + draw(BLANKS) for word in chosen)


@given(cut_quotes())
def test_a_quote_is_found_however_its_white_space_is_folded(cut: tuple[str, str]) -> None:
    source, quote = cut
    assert check_quote("E1", quote, {"E1": source}) is Verdict.PASS


@given(cut_quotes(), st.data())
def test_a_quote_with_one_character_changed_is_not_found(cut: tuple[str, str], data: st.DataObject) -> None:
    source, quote = cut
    at = data.draw(st.sampled_from([n for n, char in enumerate(quote) if not char.isspace()]))
    changed = f"{quote[:at]}z{quote[at + 1 :]}"
    assert check_quote("E1", changed, {"E1": source}) is Verdict.FAIL
    assert evidence_problems(f"> {folded(changed)} [E1]", {"E1": source})


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    assert not {"\n", "\t", "  "} & set(folded(text))


@given(st.text(), st.dictionaries(st.from_regex("E[1-9]", fullmatch=True), st.text(), max_size=3))
def test_any_result_has_a_decision_on_any_evidence(text: str, evidence: dict[str, str]) -> None:
    assert all(": " in one for one in evidence_problems(text, evidence))


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_holds_when_it_is_that_of_the_source(there: int, said: int) -> None:
    problems = evidence_problems(f"The limit is {said} steps [E1].", {"E1": f"at most {there} steps"})
    assert bool(problems) is (there != said)
