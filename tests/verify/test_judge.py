"""The third layer: a model as a judge. What it does not say in the documented words is unknown, and never a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.llm.fake import FakeLLM
from graph_agent.protocols import LLMError, Reply, Request
from graph_agent.verify.judge import (
    AT_ONCE,
    PROMPTS,
    Item,
    JudgedCriterion,
    Judgement,
    ModelJudge,
    Status,
    batches,
    in_both_orders,
    is_comparison,
    read_items,
    score_of,
    status_of,
    together,
)
from graph_agent.verify.statements import statements

TASK, OUTPUT = "Find the limit.", "The limit is 25 steps [E1]."
TWO = ("names the limit", "says since when")
STATUSES: tuple[Status, ...] = ("satisfied", "violated", "insufficient_evidence", "unknown")


def said(*words: Any, concerns: str = "none") -> dict[str, Any]:
    items = [{"number": number, "status": word, "why": "so it says"} for number, word in enumerate(words, 1)]
    return {"concerns": concerns, "items": items}


def numbered(*items: tuple[int, Any]) -> dict[str, Any]:
    return {"concerns": "none", "items": [{"number": number, "status": word} for number, word in items]}


def judged(*replies: Any, criteria: Sequence[str] = TWO) -> list[Status]:
    with FakeLLM(list(replies)) as fake:
        items = ModelJudge(fake).judge(TASK, criteria, OUTPUT)
    assert [one.criterion for one in items] == list(criteria)
    return [one.status for one in items]


def test_a_judge_that_answers_is_believed_item_by_item() -> None:
    assert judged(said("satisfied", "violated")) == ["satisfied", "violated"]
    assert judged(numbered((2, "satisfied"), (1, "insufficient_evidence"))) == ["insufficient_evidence", "satisfied"]


WORDS: list[tuple[Any, Status]] = [
    (True, "satisfied"), (False, "violated"), ("true", "satisfied"), ("FALSE", "violated"), ("pass", "satisfied"),
    ("fail", "violated"), (" Satisfied ", "satisfied"), ("VIOLATED", "violated"),
    ("insufficient_evidence", "insufficient_evidence"),
    *((word, "unknown") for word in (
        None, "", "yes", "yes, mostly", "maybe", "ok", "null", "not satisfied", "satisfied?", "satisfied, partly",
        "insufficient evidence", "unknown", "1", 1, 0, 1.0, [], {}, [True], ["satisfied"], {"ok": True},
    )),
]  # fmt: skip


@pytest.mark.parametrize(("word", "status"), WORDS)
def test_only_the_documented_words_decide(word: Any, status: Status) -> None:
    assert status_of(word) == status
    times = 1 if word is None or isinstance(word, str | bool) else 2  # what has another type is sent back once
    assert judged(*[said(word)] * times, criteria=["names the limit"]) == [status]


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_any_other_word_is_unknown(word: Any) -> None:
    documented = {"satisfied", "true", "pass", "violated", "false", "fail", "insufficient_evidence"}
    known = isinstance(word, str) and word.strip().casefold() in documented
    assert (status_of(word) != "unknown") is known


USELESS: list[tuple[str, list[Any]]] = [
    ("garbage", ["I like it.", "Really."]),
    ("nothing", ["", ""]),
    ("an empty object", [{}, {}]),
    ("a list", [[True, True], [True, True]]),
    ("another form", [{"ok": True}, {"verdict": "pass"}]),
    ("items without numbers", [{"concerns": "", "items": [{"status": "satisfied"}] * 2}] * 2),
    ("two answers", ['{"concerns": "", "items": []} {"concerns": "none", "items": []}'] * 2),
    ("refused", [Reply(text="I can't judge that.", finish="refused")]),
    ("refused without a word", [Reply(text="", finish="refused")]),
    ("refused though it answers", [Reply(text=str(said("satisfied", "satisfied")), finish="refused")]),
    ("cut", [Reply(text='{"concerns": "none", "items": [{"number": 1, "sta', finish="length")]),
    ("cut though whole", [Reply(text='{"concerns": "", "items": [{"number": 1, "status": "pass"}]}', finish="length")]),
    ("unreachable", [LLMError("no answer within 30 s")]),
    ("unreachable when asked again", ["garbage", LLMError("connection refused")]),
]


@pytest.mark.parametrize(("kind", "replies"), USELESS, ids=[kind for kind, _ in USELESS])
def test_a_judge_that_is_of_no_use_has_judged_nothing(kind: str, replies: list[Any]) -> None:
    assert judged(*replies) == ["unknown", "unknown"]


def test_why_it_is_unknown_is_said() -> None:
    for replies, why in (
        (["garbage", "garbage"], "the judgement is of no use: there is no JSON"),
        ([LLMError("no answer within 30 s")], "the judge can't be asked: no answer within 30 s"),
        ([said("maybe")], "the judge's word 'maybe' is none of satisfied, violated, insufficient_evidence"),
        ([numbered()], "the judge said nothing of it"),
        ([numbered((1, "pass"), (1, "fail"))], "the judge contradicts itself"),
        ([numbered((0, "pass"))], "the judge speaks of a criterion 0, of 1 to 1"),
    ):
        (item,) = ModelJudge(FakeLLM(replies)).judge(TASK, ["names the limit"], OUTPUT)
        assert item.status == "unknown"
        assert item.why.startswith(why)


def test_one_that_mends_its_answer_is_believed() -> None:
    assert judged("Sure!", said("satisfied", "satisfied")) == ["satisfied", "satisfied"]


GIVEN: list[tuple[str, dict[str, Any], list[Status]]] = [
    ("the second is missing", numbered((1, "satisfied")), ["satisfied", "unknown"]),
    ("the first is missing", numbered((2, "satisfied")), ["unknown", "satisfied"]),
    ("twice alike", numbered((1, "satisfied"), (2, "pass"), (2, "SATISFIED")), ["satisfied", "satisfied"]),
    ("twice not alike", numbered((1, "satisfied"), (2, "satisfied"), (2, "violated")), ["satisfied", "unknown"]),
    ("once no word", numbered((1, "satisfied"), (2, "satisfied"), (2, "perhaps")), ["satisfied", "unknown"]),
    ("numbered from 0", numbered((0, "violated"), (1, "satisfied")), ["unknown", "unknown"]),
    ("one too many", numbered((1, "satisfied"), (2, "satisfied"), (3, "satisfied")), ["unknown", "unknown"]),
    ("numbered from below", numbered((-1, "satisfied"), (1, "satisfied"), (2, "satisfied")), ["unknown", "unknown"]),
]


@pytest.mark.parametrize(("kind", "reply", "statuses"), GIVEN, ids=[kind for kind, *_ in GIVEN])
def test_an_item_counts_once_and_for_its_own_criterion(
    kind: str, reply: dict[str, Any], statuses: list[Status]
) -> None:
    assert judged(reply) == statuses


@given(
    st.lists(st.text(max_size=5), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(-1, 7), st.sampled_from([*STATUSES, "yes", True, None])), max_size=8),
)
def test_a_criterion_is_satisfied_only_when_all_that_is_said_of_it_says_so(
    criteria: list[str], given_: list[tuple[int, str | bool | None]]
) -> None:
    items = tuple(JudgedCriterion(number=number, status=word) for number, word in given_)
    found = read_items(criteria, Judgement(concerns="", items=items))
    assert [one.criterion for one in found] == criteria
    for number, one in enumerate(found, 1):
        own = [word for at, word in given_ if at == number]
        if one.status == "satisfied":
            assert own and all(word in ("satisfied", True) for word in own)
            assert all(1 <= at <= len(criteria) for at, _ in given_)


def test_the_request_has_the_task_the_criteria_and_the_output_and_nothing_else() -> None:
    with FakeLLM([said("satisfied", "satisfied")]) as fake:
        ModelJudge(fake).judge(TASK, TWO, OUTPUT)
    (request,) = fake.requests
    assert request.context == {
        "task": TASK,
        "criteria": [{"number": 1, "criterion": TWO[0]}, {"number": 2, "criterion": TWO[1]}],
        "output": OUTPUT,
    }
    assert request.temperature == 0.0
    assert request.instructions == PROMPTS[0]
    assert request.schema is not None


def test_concerns_come_before_the_items() -> None:
    with FakeLLM([said("satisfied")]) as fake:
        ModelJudge(fake).judge(TASK, TWO[:1], OUTPUT)
    assert list(fake.requests[0].schema["properties"]) == ["concerns", "items"]  # type: ignore[index]
    assert all("concern" in prompt.lower() and "ewrite" in prompt for prompt in PROMPTS)


@pytest.mark.parametrize(("criteria", "calls"), [(0, []), (1, [1]), (6, [6]), (7, [6, 1]), (13, [6, 6, 1])])
def test_at_most_six_criteria_are_judged_at_once(criteria: int, calls: list[int]) -> None:
    def answer(request: Request) -> dict[str, Any]:
        return said(*["satisfied"] * len(request.context["criteria"]))

    fake = FakeLLM(answer)
    names = [f"criterion {n}" for n in range(criteria)]
    items = ModelJudge(fake).judge(TASK, names, OUTPUT)
    assert [len(request.context["criteria"]) for request in fake.requests] == calls
    assert [one.criterion for one in items] == names
    assert AT_ONCE == 6


def test_a_call_that_fails_takes_its_own_criteria_with_it_and_no_others() -> None:
    names = [f"criterion {n}" for n in range(7)]
    assert judged(LLMError("gone"), said("satisfied"), criteria=names) == ["unknown"] * 6 + ["satisfied"]


@given(st.lists(st.text()))
def test_batches_lose_nothing(criteria: list[str]) -> None:
    cut = batches(criteria)
    assert [one for some in cut for one in some] == criteria
    assert all(1 <= len(some) <= AT_ONCE for some in cut)


COMPARED = "compares the limits"
LONG = "It was 20 steps [E1].\n\n> It is 25 steps. [E2]"


def both_orders(
    *replies: Any, criteria: Sequence[str] = (COMPARED,), output: str = LONG
) -> tuple[list[Status], FakeLLM]:
    with FakeLLM(list(replies)) as fake:
        items = in_both_orders(ModelJudge(fake), TASK, criteria, output)
    assert [one.criterion for one in items] == list(criteria)
    return [one.status for one in items], fake


def test_a_comparison_is_judged_once_more_with_the_statements_in_reverse() -> None:
    statuses, fake = both_orders(
        said("satisfied", "satisfied"), said("satisfied"), criteria=("names the limit", COMPARED)
    )
    assert statuses == ["satisfied", "satisfied"]
    again = fake.requests[1].context
    assert [one["criterion"] for one in again["criteria"]] == [COMPARED]
    assert again["output"] == "> It is 25 steps. [E2]\n\nIt was 20 steps [E1]."
    assert statements(again["output"]) == statements(LONG)[::-1]


ORDERS: list[tuple[Any, Any, Status]] = [
    (said("satisfied"), said("satisfied"), "satisfied"),
    (said("violated"), said("violated"), "violated"),
    (said("satisfied"), said("violated"), "insufficient_evidence"),
    (said("violated"), said("satisfied"), "insufficient_evidence"),
    (said("satisfied"), said("insufficient_evidence"), "insufficient_evidence"),
    (said("satisfied"), said("perhaps"), "unknown"),
    (said("perhaps"), said("satisfied"), "unknown"),
    (said("satisfied"), LLMError("gone"), "unknown"),
]


@pytest.mark.parametrize(("first", "second", "status"), ORDERS)
def test_what_hangs_on_the_order_is_not_decided(first: Any, second: Any, status: Status) -> None:
    assert both_orders(first, second)[0] == [status]


@pytest.mark.parametrize(("criterion", "output"), [("names the limit", LONG), (COMPARED, OUTPUT), (COMPARED, "")])
def test_without_a_comparison_or_an_order_one_call_is_enough(criterion: str, output: str) -> None:
    assert both_orders(said("satisfied"), criteria=(criterion,), output=output)[0] == ["satisfied"]


@pytest.mark.parametrize(
    ("criterion", "compares"),
    [
        ("compares both limits", True),
        ("says which is faster than the other", True),
        ("says whether A is more reliable than B", True),
        ("names the differences", True),
        ("A vs. B is decided", True),
        ("\u6bd4\u8f83\u4e24\u79cd\u65b9\u6cd5", True),
        ("\u8bf4\u660e\u4e24\u8005\u7684\u533a\u522b", True),
        ("\u8bf4\u660e A \u6bd4 B \u66f4\u5feb", True),
        ("names the limit", False),
        ("cites the rule rather than the example", False),
        ("names a source other than the manual", False),
        ("has more than 3 cited statements", False),
        ("\u8bf4\u660e\u4e0a\u9650", False),
    ],
)
def test_which_criteria_compare(criterion: str, compares: bool) -> None:
    assert is_comparison(criterion) is compares


def item(status: Status, why: str = "") -> Item:
    return Item(criterion="c", status=status, why=why)


PAIRS: list[tuple[Status, Status, Status, bool]] = [
    ("satisfied", "satisfied", "satisfied", False),
    ("satisfied", "violated", "violated", True),
    ("satisfied", "insufficient_evidence", "insufficient_evidence", True),
    ("satisfied", "unknown", "unknown", False),
    ("violated", "insufficient_evidence", "violated", False),
    ("violated", "unknown", "violated", False),
    ("insufficient_evidence", "unknown", "unknown", False),
    ("unknown", "unknown", "unknown", False),
]


@pytest.mark.parametrize(("one", "other", "stricter", "disputed"), PAIRS)
def test_of_two_judges_the_stricter_word_holds_and_a_dispute_is_said(
    one: Status, other: Status, stricter: Status, disputed: bool
) -> None:
    for pair in ((one, other), (other, one)):
        items, criteria = together([item(pair[0])], [item(pair[1])])
        assert [each.status for each in items] == [stricter]
        assert criteria == (("c",) if disputed else ())


def test_the_stricter_judge_s_reason_is_kept() -> None:
    ((one,), _) = together([item("satisfied", "it does")], [item("violated", "it does not")])
    assert one.why == "it does not"


def test_the_second_judge_reads_another_wording_and_knows_nothing_of_the_first() -> None:
    with FakeLLM([said("satisfied"), said("violated")]) as fake:
        for prompt in (0, 1):
            ModelJudge(fake, prompt=prompt).judge(TASK, TWO[:1], OUTPUT)
    first, second = fake.requests
    assert first.context == second.context
    assert (first.instructions, second.instructions) == PROMPTS
    assert PROMPTS[0] != PROMPTS[1]


def test_the_score_is_the_share_of_the_satisfied() -> None:
    assert score_of([]) == 0.0
    assert score_of([item(status) for status in STATUSES]) == 0.25
    assert score_of([item("satisfied")] * 3) == 1.0


@given(st.lists(st.sampled_from(STATUSES), max_size=9))
def test_the_score_lies_between_none_and_all(statuses: list[Status]) -> None:
    assert 0.0 <= score_of(item(one) for one in statuses) <= 1.0
    assert (score_of(item(one) for one in statuses) == 1.0) is (set(statuses) == {"satisfied"})
