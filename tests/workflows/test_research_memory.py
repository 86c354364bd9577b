"""What prompts are told of what went before: bounded however long the run, and marked where it was shortened."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent import Request
from graph_agent.workflows.research.nodes.memory import (
    MOST_GIST,
    MOST_HINT,
    MOST_LINE,
    MOST_LINES,
    accepted_lines,
    cut,
    dead_end_lines,
    dice,
    failure_digest,
    fingerprint_of,
    gist_of,
    kept_result,
    told_results,
)
from graph_agent.workflows.research.nodes.step import Work, _request
from graph_agent.workflows.research.state import DeadEnd, ResearchState, Stage
from tests.workflows.research_rounds import LONG, long_run
from tests.workflows.researching import (
    LOAD,
    LOAD_STEP,
    WIND,
    WIND_STEP,
    World,
    item,
    plan_of,
    planned,
    result,
    step,
    verdict,
)


@given(st.text(max_size=80), st.integers(20, 60))
def test_a_line_is_cut_to_its_length_with_a_mark(text: str, most: int) -> None:
    line = cut(text, most)
    assert len(line) <= most and "\n" not in line
    assert line == " ".join(text.split()) or line.endswith("... (shortened)")


def test_a_gist_is_the_first_statement_with_what_it_cites() -> None:
    assert gist_of(f"{WIND} [E1]\n\n{LOAD} [E6]\n\nIt is so [E6].").endswith(" [E1] and 2 more statements")
    assert gist_of(f"{LOAD} [E6]") == "The goods hoist carries 300 kilograms. [E6]"
    assert gist_of("# nothing\n") == "# nothing"


@given(st.integers(0, 200), st.integers(1, 300), st.integers(0, 60))
def test_a_gist_is_bounded_however_long_its_statement_and_however_many_its_citations(
    cites: int, words: int, more: int
) -> None:
    marks = "".join(f"[E{number}]" for number in range(1, cites + 1))
    text = "\n\n".join(["word " * words + f"end {marks}.", *["And this is so [E1]."] * more])
    assert len(gist_of(text)) <= MOST_GIST


def passed(count: int, text: str = "Text") -> ResearchState:
    """So many steps of one plan have an accepted result."""
    names = [f"s{number}" for number in range(count)]
    plan = plan_of(*(step(name) for name in names))
    results = tuple(result(name, f"{text} of {name} [E1].", gist=f"gist of {name}") for name in names)
    verdicts = (verdict(*(item(name) for name in names)),)
    return planned(plan=plan, results=results, verdicts=verdicts, rounds=1)


def test_the_last_three_results_are_told_in_full_and_older_ones_as_their_gist_and_marked() -> None:
    told = told_results(passed(5))
    assert [one["step"] for one in told] == ["s0", "s1", "s2", "s3", "s4"]
    assert [one.get("text") for one in told[2:]] == [f"Text of s{number} [E1]." for number in (2, 3, 4)]
    assert [(one["gist"], one["shortened"]) for one in told[:2]] == [("gist of s0", True), ("gist of s1", True)]
    assert all("text" not in one for one in told[:2])


def test_what_was_not_accepted_is_told_to_nobody() -> None:
    state = passed(2)
    found = verdict(item("s0", "violated"), item("s1", "violated"))
    state = planned(plan=state.plan, results=state.results, verdicts=(found,), rounds=1)
    assert told_results(state) == [] and accepted_lines(state) == []


def test_a_claim_is_told_to_nobody() -> None:
    state = passed(1)
    (one,) = state.results
    boasting = planned(plan=state.plan, results=(result("s0", one.text, claim="EXCELLENT"),), verdicts=state.verdicts)
    assert "EXCELLENT" not in json.dumps([told_results(boasting), accepted_lines(boasting)])


def test_the_planner_is_told_one_line_for_each_goal_the_latest_and_at_most_eight() -> None:
    state = passed(6)
    again = tuple(result(f"s{number}", "New [E9].", plan=2, gist=f"new gist of s{number}") for number in range(6))
    more = tuple(result(f"t{number}", "More [E9].", plan=2, gist=f"gist of t{number}") for number in range(5))
    found = verdict(*(item(one.step) for one in (*again, *more)), plan=2, round=2)
    state = planned(
        plan=state.plan, plan_no=2, results=(*state.results, *again, *more), verdicts=(*state.verdicts, found), rounds=2
    )
    lines = accepted_lines(state)
    assert len(lines) == MOST_LINES
    assert lines[-1] == {"goal": "Find t4", "gist": "gist of t4"}
    assert {"goal": "Find s5", "gist": "new gist of s5"} in lines


def dead_ends(count: int, length: int = 10) -> tuple[DeadEnd, ...]:
    return tuple(
        DeadEnd(fingerprint=str(number), tried=f"way {number} " + "x" * length, why="y" * length)
        for number in range(count)
    )


def test_a_dead_end_is_one_line() -> None:
    assert dead_end_lines(dead_ends(1, 3)) == ["tried way 0 xxx, failed because yyy"]


def test_many_dead_ends_are_counted_and_the_latest_told() -> None:
    lines = dead_end_lines(dead_ends(30, 1_000))
    assert lines[0] == "and 22 earlier ones" and len(lines) == MOST_LINES + 1
    assert lines[-1].startswith("tried way 29")
    assert all(len(line) <= 2 * MOST_LINE and "\n" not in line for line in lines)


@given(st.text(max_size=40), st.integers(0, 400), st.integers(0, 12))
def test_a_failure_is_told_in_about_300_tokens(word: str, length: int, count: int) -> None:
    long = f"{word}{'w' * length}"
    items = (item(f"s{number}", "violated", f"{number} {long}", why=long) for number in range(count))
    state = passed(1)
    state = planned(
        Stage.PLAN,
        state.plan,
        verdicts=(verdict(*items),),
        rounds=count,
        reasons=tuple(f"{n} {long}" for n in range(count)),
    )
    digest = failure_digest(state)
    assert digest is not None
    assert len(digest["unmet"]) <= 3 and len(digest["last_reasons"]) <= 5 and len(digest["hint"]) <= MOST_HINT
    values = [*digest["last_reasons"], digest["hint"], *(text for one in digest["unmet"] for text in one.values())]
    assert sum(map(len, values)) <= 1_010, "with its keys about 1,200 characters"


def test_the_digest_of_a_failure_has_what_is_unmet_on_what_ground_and_the_last_reasons() -> None:
    found = verdict(
        item("s0", "satisfied", "it is met"),
        item("s0", "insufficient_evidence", "it is lacking", why="nothing says so"),
        item("s0", "violated", "it is broken", why="it says the contrary"),
    )
    state = planned(Stage.PLAN, passed(1).plan, verdicts=(found,), rounds=7, reasons=tuple("abcdefg"))
    assert failure_digest(state) == {
        "unmet": [
            {"criterion": "it is lacking", "why": "nothing says so"},
            {"criterion": "it is broken", "why": "it says the contrary"},
        ],
        "hint": "s0 violated: it is broken (it says the contrary)",
        "last_reasons": ["c", "d", "e", "f", "g"],
    }


def test_a_pass_has_no_failure_to_tell_unless_it_refuted_the_plan() -> None:
    good = verdict(item("s0"))
    assert failure_digest(planned(plan=passed(1).plan, verdicts=(good,))) is None
    refuted = verdict(item("s0"), refuted="there is no hoist")
    told = failure_digest(planned(plan=passed(1).plan, verdicts=(refuted,)))
    assert told is not None and told["hint"] == "refuted: there is no hoist" and told["unmet"] == []


SAME = [
    ("Find the Hoist", "find  the hoist"),
    ("Find the hoist!", "Find, the hoist."),
    ("Find hoist 12", "\uff26\uff49\uff4e\uff44 hoist \uff11\uff12"),
    (
        "\u67e5\u627e\u98ce\u901f\uff0c\u7136\u540e\u505c\u673a",
        "\u67e5\u627e\u98ce\u901f \u7136\u540e\u505c\u673a\u3002",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_fingerprint_does_not_see_case_blanks_punctuation_or_width(one: str, other: str) -> None:
    assert fingerprint_of(plan_of(step("a", one))) == fingerprint_of(plan_of(step("b", other)))


def test_a_fingerprint_sees_other_words_and_other_tools_and_not_the_order_or_the_criteria() -> None:
    a, b = step("a", "Find one"), step("b", "Find two", "another criterion")
    assert fingerprint_of(plan_of(a, b)) == fingerprint_of(plan_of(b, a))
    assert fingerprint_of(plan_of(a)) != fingerprint_of(plan_of(a, b))
    assert fingerprint_of(plan_of(a)) != fingerprint_of(plan_of(step("a", "Find one more")))
    assert fingerprint_of(plan_of(a)) != fingerprint_of(plan_of(step("a", "Find one", tool="read_text")))


CHINESE = "\u67e5\u627e\u98ce\u901f\u8fbe\u5230\u591a\u5c11\u65f6\u505c\u673a"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("Find when the hoist stops", "Find when the hoist stops", True),
        ("Find when the hoist stops", "FIND when, the hoist stops!", True),
        ("Find when the hoist stops", "Find out when the hoist stops", True),
        ("Find when the hoist stops", "Count the beds in the huts", False),
        (CHINESE, f"{CHINESE}\uff1f", True),
        ("", "", True),
        ("a", "b", False),
    ],
)
def test_goals_are_near_by_the_share_of_common_bigrams(one: str, other: str, near: bool) -> None:
    assert (dice(one, other) >= 0.8) == near


@given(st.text(max_size=30), st.text(max_size=30))
def test_nearness_is_symmetric_between_0_and_1_and_1_for_itself(one: str, other: str) -> None:
    assert 0 <= dice(one, other) == dice(other, one) <= 1
    assert dice(one, one) == 1


def test_dice_counts_a_bigram_as_often_as_it_stands_there() -> None:
    assert dice("abab", "ab") == 2 * 1 / (3 + 1)
    assert dice("night", "nacht") == 2 * 1 / (4 + 4)


def old_results() -> ResearchState:
    results = (
        result("wind", "Old [E1].", goal=WIND_STEP.goal),
        result("load", "Load [E6].", goal=LOAD_STEP.goal),
        result("wind", "New [E11].", plan=2, goal=WIND_STEP.goal.upper()),
    )
    verdicts = (verdict(item("wind"), item("load")), verdict(item("wind"), plan=2, round=2))
    return planned(plan_no=3, results=results, verdicts=verdicts, rounds=2)


def test_the_nearest_accepted_result_is_kept_and_of_equals_the_latest() -> None:
    kept = kept_result(old_results(), WIND_STEP.goal)
    assert kept is not None and kept.text == "New [E11]."
    assert kept_result(old_results(), "Count the beds") is None


def test_a_result_for_nearly_the_same_goal_is_kept_and_for_one_less_near_is_not() -> None:
    near, far = f"{WIND_STEP.goal} in wind", f"{WIND_STEP.goal} in the wind of a winter"
    assert 0.8 <= dice(WIND_STEP.goal, near) < 0.95 and 0.5 < dice(WIND_STEP.goal, far) < 0.8
    assert kept_result(old_results(), near) is not None
    assert kept_result(old_results(), far) is None


def test_nothing_of_the_present_plan_is_kept() -> None:
    state = old_results()
    here = planned(plan_no=1, results=state.results[:2], verdicts=state.verdicts[:1], rounds=1)
    assert kept_result(here, WIND_STEP.goal) is None


def sizes(requests: list[Request]) -> list[int]:
    return [len(json.dumps(dict(one.context), ensure_ascii=False)) + len(one.instructions) for one in requests]


def test_the_prompts_of_planner_and_executor_stay_flat_over_30_rounds() -> None:
    """Each round another plan fails, every text is long; from the tenth on no call is longer than by a few digits."""
    world, end = long_run(30)
    assert end.rounds == 30 and end.replans >= 29
    plans, moves = world.llm.asked("plan"), world.llm.asked("move")
    assert len(plans) == 30 and len(moves) >= 60
    for name, measured in (("plan", sizes(plans)), ("move", sizes(moves))):
        tenth = max(measured[len(measured) // 3 : len(measured) // 3 + 4])
        assert max(measured) <= tenth + 200, (name, measured)
    assert len(end.evidence) >= 60 and len(end.results) >= 60, "what the state holds has grown"
    assert max(sizes(moves)) < 16 * 1_400 and LONG > 2_000


def test_thirty_local_rounds_leave_the_prompts_as_they_are() -> None:
    world = World()
    plan = plan_of(step("a"), step("b"))
    old = [world.evidence(number, "x" * LONG, plan=1, step="a", source=f"{number:03}.md") for number in range(1, 200)]
    found = verdict(item("a", "violated"), item("b"))
    state = planned(
        plan=plan,
        evidence=tuple(old),
        results=(result("a", "A [E1]."), result("b", "B [E2].")),
        verdicts=(found,),
        rounds=1,
    )
    told = _request(Work(state, world.ctx, plan.steps[0], 1, 900, True))
    assert len(told.context["evidence"]) == 12
    assert sizes([told])[0] < 12 * 1_000 + 4_000
