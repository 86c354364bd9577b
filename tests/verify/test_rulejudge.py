"""The rule that stands for a judge offline: the forms it reads, and that it doubts whatever it can't read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.judge import Status
from graph_agent.verify.rulejudge import FORMS, RuleJudge

KEPT = "> Runs are kept for 30 days. [E1]\n\n> The archive was opened on 1 May 2019. [E2]"
PLAIN = 'The manual says "ask the office" [E1].'
ZH = (
    "> \u5929\u6587\u53f0\u51ac\u5b63\u5de1\u68c0\u6bcf\u5468\u4e24\u6b21\uff0c2019\u5e745\u6708\u5f00\u59cb\u3002 [E1]"
)
OFF = "> The hoist carries 450 kilograms between 1 June and 20 September 2019. [E7]"
YES: Status = "satisfied"
NO: Status = "violated"
DOUBT: Status = "insufficient_evidence"


def judged(criterion: str, output: str) -> Status:
    (item,) = RuleJudge().judge("any task", [criterion], output)
    assert item.criterion == criterion and item.why
    return item.status


COUNTS: list[tuple[str, str, Status]] = [
    ("at least 1 cited statement", KEPT, YES),
    ("at least 2 cited statements", KEPT, YES),
    ("At least two cited statements.", KEPT, YES),
    ("The result has at least two statements", KEPT, YES),
    ("no fewer than 2 cited statements", KEPT, YES),
    ("at least 3 cited statements", KEPT, NO),
    ("at least three cited statements", KEPT, NO),
    ("at least 2 cited statements", f"{PLAIN} Not cited.", NO),
    ("at least 2 cited statements on how runs are kept", KEPT, DOUBT),
    ("at least one cited statement on how runs are kept", KEPT, YES),
    ("at least one cited statement on how runs are kept", OFF, DOUBT),
    ("\u81f3\u5c11\u4e24\u6761\u5f15\u7528\u7684\u9648\u8ff0", KEPT, YES),
    ("\u81f3\u5c11\u67093\u6761\u5e26\u5f15\u7528\u7684\u9648\u8ff0\u3002", KEPT, NO),
    ("\u4e0d\u5c11\u4e8e1\u6761\u9648\u8ff0", ZH, YES),
]

MENTIONS: list[tuple[str, str, Status]] = [
    ('mentions "the office"', PLAIN, YES),
    ("The answer mentions \u201cThe Office\u201d.", PLAIN, YES),
    ("mentions 'the office'", PLAIN, YES),
    ("mentions the office", PLAIN, YES),
    ('mentions "the cellar"', PLAIN, NO),
    ('mentions "off"', PLAIN, NO),
    ("mentions `max_turns`", "> Set `max_turns` first. [E1]", YES),
    ("mentions `max`", "> Set `max_turns` first. [E1]", NO),
    ('mentions "the office"', "Ask the office. The manual is short [E1].", NO),
    ("mentions the reason for the limit", PLAIN, DOUBT),
    ("mentions how long runs are kept", KEPT, YES),
    ('mentions "30 days" and gives a date', KEPT, DOUBT),
    ('mentions "30 days" and "archive"', KEPT, YES),
    ('mentions both "30 days" and "cellar"', KEPT, NO),
    ('mentions "30 days" or "cellar"', KEPT, DOUBT),
    ("\u63d0\u5230\u300c\u5de1\u68c0\u300d", ZH, YES),
    ("\u56de\u7b54\u63d0\u53ca\u201c\u5de1\u68c0\u201d\u3002", ZH, YES),
    ("\u63d0\u5230\u300c\u7d22\u9053\u300d", ZH, NO),
    ("\u63d0\u5230\u51ac\u5b63\u5de1\u68c0", ZH, YES),
]

NUMBERS: list[tuple[str, str, Status]] = [
    ("gives a number", KEPT, YES),
    ("states an exact number", KEPT, YES),
    ("The answer contains a figure.", KEPT, YES),
    ("names an amount", KEPT, YES),
    ("gives a number", "> The rope is renewed every seven years. [E1]", YES),
    ("gives a number", "> Twice a week the rope is looked at. [E1]", YES),
    ("gives a number", "> Anyone may look at it often, in one way or another. [E1]", DOUBT),
    ("gives a number", "> \u6bcf\u5468\u4e24\u6b21\u5de1\u68c0\u3002 [E1]", YES),
    ("gives a number", "> \u4e00\u822c\u4e0d\u5de1\u68c0\u3002 [E1]", DOUBT),
    ("gives a number", PLAIN, DOUBT),
    ("gives a number", f"{PLAIN} It is 5.", DOUBT),
    ("gives the number of days that runs are kept", KEPT, YES),
    ("gives the number of days that runs are kept", OFF, DOUBT),
    ("gives a number for the runs that are kept", OFF, DOUBT),
    ("\u7ed9\u51fa\u4e00\u4e2a\u6570\u5b57", ZH, YES),
    ("\u7ed9\u51fa\u5177\u4f53\u7684\u6570\u503c", PLAIN, DOUBT),
]

DATES: list[tuple[str, str, Status]] = [
    ("gives a date", KEPT, YES),
    ("The answer states the exact date.", KEPT, YES),
    ("gives a date", PLAIN, DOUBT),
    ("gives a date for the opening of the archive", KEPT, YES),
    ("gives a date for the opening of the archive", OFF, DOUBT),
    ("\u7ed9\u51fa\u65e5\u671f", ZH, YES),
    ("\u5199\u660e\u5177\u4f53\u65e5\u671f", PLAIN, DOUBT),
]

OTHERS: list[tuple[str, str, Status]] = [
    ("speaks of: How long are runs kept?", KEPT, YES),
    ("speaks of how runs are kept", KEPT, YES),
    ("The answer says how long runs are kept.", KEPT, YES),
    ("says when the archive was opened", KEPT, YES),
    ("names how long runs are kept and when the archive was opened", KEPT, YES),
    ("speaks of: Which document mentions the hoist?", KEPT, DOUBT),
    ("speaks of: How to give a date in a report?", KEPT, DOUBT),
    ("speaks of: What colour is the hoist?", OFF, DOUBT),
    ("speaks of: Was the archive opened in 1994?", KEPT, DOUBT),
    ("says how long runs are kept", OFF, DOUBT),
    ("says how long runs are kept", f"{OFF}\n\nRuns are kept long.", DOUBT),
    ("is of high quality", KEPT, DOUBT),
    ("", KEPT, DOUBT),
    ("?", KEPT, DOUBT),
    ("of the and", KEPT, DOUBT),
    ("\u8bf4\u660e\u51ac\u5b63\u5de1\u68c0\u7684\u6b21\u6570", ZH, YES),
    ("\u8c08\u5230\uff1a\u51ac\u5b63\u5de1\u68c0\u6bcf\u5468\u51e0\u6b21\uff1f", ZH, YES),
    ("\u8bf4\u660e\u7d22\u9053\u7684\u8f7d\u91cd", ZH, DOUBT),
]

FORBIDDEN = [
    'does not mention "the cellar"', "must not say how long runs are kept", "never states how long runs are kept",
    "mentions no office", "doesn't claim that runs are kept", "is written without guessing how long runs are kept",
    "\u4e0d\u5f97\u63d0\u5230\u300c\u5de1\u68c0\u300d", "\u6ca1\u6709\u63d0\u53ca\u51ac\u5b63\u5de1\u68c0",
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "output", "status"), [*COUNTS, *MENTIONS, *NUMBERS, *DATES, *OTHERS])
def test_each_form_is_read_and_every_other_doubted(criterion: str, output: str, status: Status) -> None:
    assert judged(criterion, output) == status


@pytest.mark.parametrize("criterion", FORBIDDEN)
@pytest.mark.parametrize("output", [KEPT, PLAIN, ZH])
def test_what_must_not_be_said_is_not_for_a_rule_to_judge(criterion: str, output: str) -> None:
    assert judged(criterion, output) == DOUBT


DATED = [
    "on 2019-05-01", "on 1 May 2019", "on May 1, 2019", "on 1st of May", "in May 2019", "in Sept. 2019", "in 2019.",
    "since 1948 it was", "on 1.5.2019", "on 5/1/2019", "\u4e8e2019\u5e74", "5\u67081\u65e5",
]  # fmt: skip
UNDATED = [
    "of 2048 bytes",
    "as version 3.11.12",
    "as the market may",
    "by March",
    "up to 2000 metres",
    "in a decade",
    "at 12:30",
]


@pytest.mark.parametrize(("when", "status"), [*((one, YES) for one in DATED), *((one, DOUBT) for one in UNDATED)])
def test_what_a_date_is(when: str, status: Status) -> None:
    assert judged("gives a date", f"> It opened {when} [E1]") == status


SUBJECTS = [form for form in FORMS if "X" in form] + [
    "says {}", "the answer explains {}", "gives a number for {}", "gives a date for {}",
    "at least 1 cited statement on {}",
]  # fmt: skip


@pytest.mark.parametrize("form", SUBJECTS)
def test_an_off_topic_quote_never_satisfies(form: str) -> None:
    criterion = form.replace("X", "{}").format("the retention of finished runs")
    for output in (
        OFF,
        f"On the retention of finished runs:\n\n{OFF}",
        f"{OFF}\n\nThe retention of finished runs is short.",
    ):
        assert judged(criterion, output) == DOUBT


def test_the_criterion_s_own_words_around_an_off_topic_quote_do_not_help() -> None:
    quote = '"the hoist carries four hundred kilograms of fuel and food up the steep mountain in summer"'
    assert judged("says how long finished runs are kept", f"Finished runs are kept: {quote} [E1].") == DOUBT
    assert judged("says how long finished runs are kept", "Finished runs are kept for 30 days [E1].") == DOUBT
    assert judged("says how long finished runs are kept", '"Finished runs are kept for 30 days" [E1].') == YES


def test_what_says_far_more_than_it_quotes_is_not_borne_out() -> None:
    more = "and nobody need worry, since archives, backups, mirrors and snapshots preserve everything else"
    assert judged("says how long finished runs are kept", f'They tell of "finished runs kept", {more} [E1].') == DOUBT


def test_words_by_chance_in_many_quotes_do_not_add_up() -> None:
    output = "\n\n".join(f"> The {word} stands in the corner. [E1]" for word in ("colour", "weight", "hoist", "winter"))
    assert judged("speaks of the colour and the weight of the hoist in winter", output) == DOUBT


@pytest.mark.parametrize(
    "output", ["", "Runs are kept for 30 days.", '"Runs are kept" is said.', "# Runs [x]", "`[E1]`"]
)
@pytest.mark.parametrize(
    "criterion", ["at least 1 cited statement", 'mentions "Runs"', "gives a number", "runs are kept"]
)
def test_without_a_cited_statement_there_is_nothing_to_judge(criterion: str, output: str) -> None:
    assert judged(criterion, output) == DOUBT


def test_items_stand_in_the_order_of_the_criteria_and_say_why() -> None:
    items = RuleJudge().judge("any", ["gives a number", "gives a number", "speaks of the moon"], KEPT)
    assert [one.criterion for one in items] == ["gives a number", "gives a number", "speaks of the moon"]
    assert items[2].why == "0% of its words stand in what is quoted, not: moon"


WORDS = st.sampled_from(
    [
        "runs",
        "kept",
        "limit",
        "archive",
        "mentions",
        "at least 1 cited statement",
        "a number",
        "a date",
        "speaks of",
        "not",
    ]
)


@given(st.lists(WORDS, max_size=7).map(" ".join), st.sampled_from([KEPT, PLAIN, ZH, OFF, ""]))
def test_it_finds_a_violation_only_in_a_form_that_it_reads(criterion: str, output: str) -> None:
    if judged(criterion or "x", output) == NO:
        assert "at least 1 cited statement" in criterion


@given(st.text(), st.text())
def test_any_criterion_is_judged_on_any_output(criterion: str, output: str) -> None:
    assert judged(criterion, output) in (YES, NO, DOUBT)


@given(st.text(st.characters(categories=("Lu", "Ll")), min_size=4, max_size=12), st.text("qxz", min_size=6, max_size=9))
def test_a_word_that_is_quoted_nowhere_is_never_spoken_of(word: str, other: str) -> None:
    if other not in word:
        assert judged(f"speaks of {other}", f"> The {word} is kept for 30 days. [E1]") == DOUBT
