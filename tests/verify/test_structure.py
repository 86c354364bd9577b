"""The first layer: what a result must look like before anybody asks whether it is true."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.structure import LEAST, structure_problems

FINE = [
    "Runs are kept for thirty days [E1].",
    "> Runs are kept for 30 days. [E1]",
    "## Limits\n\nIn short:\n\n1. **25 steps** [E1]\n2. 3 tries [E1, E4]",
    "| what | days |\n|---|---|\n| runs | 30 [E2] |\n| logs | 7 [E1-E3] |",
    "How long are runs kept? For thirty days. [E1][E2]",
    "\u4e0a\u9650\u662f\u4e8c\u5341\u4e94\u6b65\uff0c\u4ee5\u524d\u662f\u4e8c\u5341\u6b65\u3002[E1][E2]",
    'The manual says "TBD" where the limit should stand [E1].',
    "> The limit is to be determined. [E1]",
    "A todo list holds at most 40 items, and `TODO` marks one [E1].",
    "Esto vale para todo el mundo, siempre [E1].",
    "\u5360\u4f4d\u7b26\u7531\u5927\u62ec\u53f7\u62ec\u8d77\u6765\uff0c\u5176\u4e2d\u662f\u5b57\u6bb5\u540d\u3002[E1]",
]


@pytest.mark.parametrize("text", FINE)
def test_cited_statements_in_any_layout_are_well_formed(text: str) -> None:
    assert structure_problems(text) == ()


@pytest.mark.parametrize("text", ["", "   \n", "25 [E1]", f" {'x' * (LEAST - 1)} "])
def test_too_short_is_said_alone(text: str) -> None:
    (problem,) = structure_problems(text)
    assert problem == f"the result has {len(text.strip())} characters: write at least {LEAST}"


@pytest.mark.parametrize(
    "stand_in",
    [
        "Lorem ipsum", "to be determined", "TBD", "tbc", "your answer here", "insert number here", "<answer>",
        "<insert the limit>", "[citation needed]", "[source]", "[insert limit]", "[...]", "TO" + "DO", "FIX" + "ME",
        "XXX", "\u5f85\u8865\u5145", "\u6b64\u5904\u586b\u5199", "\u5360\u4f4d",
    ],
)  # fmt: skip
def test_a_stand_in_is_named(stand_in: str) -> None:
    (problem,) = structure_problems(f"The limit of the steps is {stand_in} in all cases [E1].")
    assert problem.startswith(f"the result has a stand-in, {stand_in!r}: ")


@pytest.mark.parametrize(
    "text", ["# Nothing but a heading", "```\nlimit = 25; tries = 3\n```", "-" * 30, "[E1] [E2] [E3] [E4] [E5]"]
)
def test_a_result_that_states_nothing_is_none(text: str) -> None:
    assert structure_problems(text) == ("the result makes no statement: write sentences, each with its citation",)


def test_each_statement_without_a_citation_is_named() -> None:
    text = "Runs are kept for 30 days [E1]. They go then.\n\n- Logs stay\n- Locks go [E2]"
    assert [one.split(":")[0] for one in structure_problems(text)] == [
        "no citation stands with 'They go then.'",
        "no citation stands with 'Logs stay'",
    ]


@pytest.mark.parametrize("mark", ["[E1, p. 3]", "(E1)", "[e1]", "[E 1]", "[E01]", "[^E1]", "\u3010E1\u3011"])
@pytest.mark.parametrize("text", ["Runs are kept for thirty days {}.", "Runs are kept for thirty days [E2] {}."])
def test_a_malformed_citation_is_told_with_the_forms_that_are_understood(text: str, mark: str) -> None:
    (problem,) = structure_problems(text.format(mark))
    assert problem == f"{mark!r} is no citation: write [E3], [E1][E2], [E1, E2], [E1-E3]"


def test_citations_in_code_count_for_nothing() -> None:
    (problem,) = structure_problems("Runs are kept for thirty days `[E1]`.")
    assert problem.startswith("no citation stands with")


def test_a_long_statement_is_told_in_part() -> None:
    (problem,) = structure_problems("Runs are kept " + "for days and " * 1_000 + "nights.")
    assert len(problem) < 200


@given(st.text())
def test_any_text_has_a_decision_and_each_problem_says_what_to_do(text: str) -> None:
    assert all(": " in problem for problem in structure_problems(text))
    assert structure_problems(text) == structure_problems(text)
