"""Judging the judge: the layers in their order, the rates, the thresholds, the held-back third, the knob to turn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.calibration import (
    GOOD,
    KINDS,
    THRESHOLDS,
    Calibration,
    Examined,
    Sample,
    SampleError,
    examine,
    read_samples,
    split,
)
from graph_agent.verify.judge import Item, Status
from graph_agent.verify.rulejudge import RuleJudge

SHIPPED = Path(__file__).parents[2] / "fixtures" / "judge"
RAW: dict[str, Any] = {
    "id": "a",
    "task": "Find the limit.",
    "criterion": "gives a number",
    "evidence": {"E1": "The limit is 25 steps."},
    "output": '"The limit is 25 steps." [E1]',
    "label": "good",
    "kind": GOOD,
}


def sample(**changed: Any) -> Sample:
    (read,) = read_samples({"a.json": json.dumps([RAW | changed])})
    return read


def examined(name: str, *statuses: Status, kind: str = GOOD, **more: Any) -> Examined:
    label = "good" if kind == GOOD else "bad"
    items = tuple(Item(criterion=f"c{number}", status=one, why="so") for number, one in enumerate(statuses))
    return Examined(sample=sample(id=name, label=label, kind=kind), items=items, **more)


def calibration(*every: Examined, threshold: float = 0.8) -> Calibration:
    return Calibration(examined=every, threshold=threshold)


def good(count: int, *statuses: Status, start: int = 0, **more: Any) -> list[Examined]:
    return [examined(f"g{start + number}", *statuses, **more) for number in range(count)]


BAD = examined("b", "insufficient_evidence", kind="empty_talk")


class Counting:
    def __init__(self, *statuses: Status) -> None:
        self.asked, self.statuses = 0, statuses

    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
        self.asked += 1
        return tuple(Item(criterion=one, status=self.statuses[0]) for one in criteria)


# the shipped samples


def shipped() -> tuple[Sample, ...]:
    return read_samples({path.name: path.read_text(encoding="utf-8") for path in sorted(SHIPPED.glob("*.json"))})


@pytest.mark.parametrize("part", [0, 1], ids=["to tune on", "held back"])
def test_the_shipped_rules_meet_the_targets_on_both_parts_of_the_shipped_samples(part: int) -> None:
    found = calibration(*(examine(one, RuleJudge()) for one in split(shipped())[part]))
    assert found.met, [(one.sample.id, one.why) for one in (*found.lost, *found.let_through)]


def test_both_parts_have_every_kind_and_the_part_to_tune_on_ten_of_each_label() -> None:
    tuned_on, held_back = split(shipped())
    for part in (tuned_on, held_back):
        assert {one.kind for one in part} == {GOOD, *KINDS}
    assert min(Counter(one.label for one in tuned_on).values()) >= 10


def test_the_shipped_bad_samples_are_stopped_by_the_layer_that_their_kind_is_about() -> None:
    layers = {"wrong_format": "structure", "invented_citation": "evidence"}
    for one in (examine(one, RuleJudge()) for one in shipped() if one.label == "bad"):
        assert (one.sample.id, one.layer) == (one.sample.id, layers.get(one.sample.kind, "judge"))


def test_without_its_judge_the_layers_of_code_let_what_only_a_judge_can_tell_pass() -> None:
    found = calibration(*(examine(one, Counting("satisfied")) for one in shipped()))
    assert {one.sample.kind for one in found.let_through} == {"off_the_question", "empty_talk"}
    assert [one.name for one in found.knobs] == ["judge too lenient"]


# one sample


def test_a_layer_that_finds_something_ends_it_and_no_judge_is_asked() -> None:
    judge = Counting("satisfied")
    no_form = examine(sample(output="The limit is 25 steps."), judge)
    no_evidence = examine(sample(output='"The limit is 25 steps." [E2]'), judge)
    both = examine(sample(output='The limit is 26 steps. "It is 25." [E9]'), judge)
    assert [one.layer for one in (no_form, no_evidence, both)] == ["structure", "evidence", "structure"]
    assert judge.asked == 0
    assert not any(one.passes(0.5) for one in (no_form, no_evidence, both))
    assert "no citation stands with" in no_form.why and "there is no evidence E2" in no_evidence.why


def test_what_the_layers_of_code_let_through_is_judged_on_all_criteria() -> None:
    found = examine(sample(criterion=["gives a number", "mentions 'steps'"]), RuleJudge())
    assert [one.status for one in found.items] == ["satisfied", "satisfied"]
    assert found.passes(1.0) and found.why == ""


@pytest.mark.parametrize(
    "statuses, threshold, passes",
    [
        (["satisfied"], 1.0, True),
        (["satisfied"] * 4 + ["insufficient_evidence"], 0.8, True),
        (["satisfied"] * 4 + ["insufficient_evidence"], 0.81, False),
        (["satisfied"] * 4 + ["violated"], 0.5, False),
        (["satisfied"] * 4 + ["unknown"], 0.5, False),
        (["satisfied", "satisfied", "insufficient_evidence"], 2 / 3, True),
        ([], 0.5, False),
    ],
)
def test_a_sample_passes_as_a_round_of_a_run_does(statuses: list[Status], threshold: float, passes: bool) -> None:
    assert examined("a", *statuses).passes(threshold) is passes


def test_the_rule_of_passing_is_that_of_a_run() -> None:
    from itertools import product
    from typing import get_args

    from graph_agent.workflows.research.state import PASSING, Verdict
    from graph_agent.workflows.research.state import Item as OfARun

    for statuses in product(get_args(Status), repeat=3):
        items = tuple(OfARun(step="s", attempt=1, criterion="c", status=one) for one in statuses)
        verdict = Verdict(round=1, plan=1, cursor=0, layer="goal", items=items)
        assert examined("a", *statuses).passes(PASSING) is (verdict.status == "PASS"), statuses


# all samples


def test_the_rows_count_by_kind_and_by_the_layer_that_stopped() -> None:
    found = calibration(
        *good(2, "satisfied"),
        examined("lost", "unknown"),
        examined("w", kind="wrong_format", layer="structure", problems=("no",)),
        examined("i", kind="invented_citation", layer="evidence", problems=("no",)),
        examined("t1", "insufficient_evidence", kind="empty_talk"),
        examined("t2", "satisfied", kind="empty_talk"),
        examined("r", "violated", kind="rude"),
    )
    rows = {
        row.kind: (row.count, row.passed, row.structure, row.evidence, row.judge, row.unknown) for row in found.rows
    }
    assert list(rows) == [GOOD, "wrong_format", "invented_citation", "empty_talk", "rude"]
    assert rows[GOOD] == (3, 2, 0, 0, 1, 1)
    assert rows["wrong_format"] == (1, 0, 1, 0, 0, 0)
    assert rows["invented_citation"] == (1, 0, 0, 1, 0, 0)
    assert rows["empty_talk"] == (2, 1, 0, 0, 1, 0)
    assert rows["rude"] == (1, 0, 0, 0, 1, 0)
    assert [one.sample.id for one in found.lost] == ["lost"]
    assert [one.sample.id for one in found.let_through] == ["t2"]


@pytest.mark.parametrize("lost, met", [(0, True), (1, True), (2, False)])
def test_nine_in_ten_of_the_good_must_pass(lost: int, met: bool) -> None:
    every = good(10 - lost, "satisfied") + good(lost, "violated", start=50)
    assert calibration(*every, BAD).met is met


def test_one_bad_sample_that_passes_is_one_too_many() -> None:
    bad = [examined(f"b{number}", "violated", kind="empty_talk") for number in range(50)]
    assert calibration(*good(10, "satisfied"), *bad).met
    assert not calibration(*good(10, "satisfied"), *bad, examined("x", "satisfied", kind="empty_talk")).met


@pytest.mark.parametrize("every", [[], [BAD], good(10, "satisfied")], ids=["none", "no good", "no bad"])
def test_where_there_is_nothing_to_show_nothing_is_met(every: list[Examined]) -> None:
    found = calibration(*every)
    assert not found.met
    assert "too few samples" in [one.name for one in found.knobs]


def test_each_threshold_is_tried_with_the_one_in_force_among_them() -> None:
    mostly: tuple[Status, ...] = ("satisfied", "satisfied", "satisfied", "insufficient_evidence")
    half: tuple[Status, ...] = ("satisfied", "insufficient_evidence")
    found = calibration(*good(10, *mostly), examined("b", *half, kind="empty_talk"), threshold=0.75)
    assert [one.threshold for one in found.tried] == sorted({*THRESHOLDS, 0.75})
    assert {one.threshold: one.meets for one in found.tried} == {
        0.5: False, 0.6: True, 0.7: True, 0.75: True, 0.8: False, 0.9: False, 1.0: False
    }  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(["satisfied", "insufficient_evidence", "violated", "unknown"]), max_size=4)))
def test_a_higher_threshold_never_lets_more_pass(many: list[list[Status]]) -> None:
    found = calibration(*(examined(f"s{number}", *statuses) for number, statuses in enumerate(many)), BAD)
    passed = [one.good_passed for one in found.tried]
    blocked = [one.bad_blocked for one in found.tried]
    assert passed == sorted(passed, reverse=True)
    assert blocked == sorted(blocked)


# the knob to turn

KNOBS: dict[str, tuple[list[Examined], str, str]] = {
    "faults found in the good": (good(3, "violated"), "prompt too strict", "other wording"),
    "the good do not say so much": (good(3, "insufficient_evidence"), "criterion too fine", "ask for less in 'c0'"),
    "no word on the good": (good(3, "unknown"), "judge does not answer", "c0: unknown, so"),
    "the good stopped by code": (
        good(3, layer="structure", problems=("no citation",)),
        "sample or layer of code",
        "no citation",
    ),
    "a bad one passes": (
        [*good(3, "satisfied"), examined("x", "satisfied", kind="off_the_question")],
        "judge too lenient",
        "raise the threshold",
    ),
}


@pytest.mark.parametrize("every, name, advice", KNOBS.values(), ids=KNOBS)
def test_a_missed_target_says_which_knob_to_turn(every: list[Examined], name: str, advice: str) -> None:
    (knob,) = calibration(*every, BAD).knobs
    assert knob.name == name
    assert advice in knob.advice
    assert knob.samples == (("x",) if name == "judge too lenient" else ("g0", "g1", "g2"))


def test_the_knob_that_most_samples_ask_for_comes_first() -> None:
    every = [*good(2, "violated"), *good(3, "insufficient_evidence", start=5), examined("x", "satisfied", kind="x")]
    assert [one.name for one in calibration(*every).knobs] == [
        "criterion too fine",
        "prompt too strict",
        "judge too lenient",
    ]


def test_where_the_targets_are_met_no_knob_is_to_be_turned() -> None:
    found = calibration(*good(9, "satisfied"), *good(1, "violated", start=20), BAD)
    assert found.met and found.lost and found.knobs == ()


# the held-back third


def test_the_part_of_a_sample_is_that_of_its_id_whatever_else_changes() -> None:
    for number in range(30):
        name = f"s{number}"
        other = sample(id=name, task="Other.", output="Other words, no less long [E1].", label="bad", kind="empty_talk")
        assert sample(id=name).held_back is other.held_back


def test_about_a_third_is_held_back_and_no_sample_is_in_both_parts() -> None:
    every = [sample(id=f"sample-{number}") for number in range(600)]
    tuned_on, held_back = split(every)
    assert sorted(one.id for one in (*tuned_on, *held_back)) == sorted(one.id for one in every)
    assert 150 < len(held_back) < 250


# reading

FAULTS: dict[str, tuple[Any, str]] = {
    "no list": (RAW, "a file of samples is a JSON list"),
    "a missing key": ([{key: value for key, value in RAW.items() if key != "output"}], "output"),
    "a key too many": ([RAW | {"comment": "x"}], "comment"),
    "another label": ([RAW | {"label": "fine"}], "label"),
    "an empty id": ([RAW | {"id": " "}], "has an empty id"),
    "one id twice": ([RAW, RAW], "is in a.json too"),
    "a good one of a bad kind": ([RAW | {"kind": "empty_talk"}], "is good and of the kind 'empty_talk'"),
    "a bad one of the kind good": ([RAW | {"label": "bad"}], "is bad and of the kind 'good'"),
    "a bad one of no kind": ([RAW | {"label": "bad", "kind": ""}], "has no kind"),
    "no criterion": ([RAW | {"criterion": []}], "has no criterion"),
    "an empty criterion": ([RAW | {"criterion": ["a", " "]}], "has no criterion"),
    "evidence that is a list": ([RAW | {"evidence": ["x"]}], "evidence"),
}


@pytest.mark.parametrize("data, said", FAULTS.values(), ids=FAULTS)
def test_samples_that_can_not_be_used_are_refused_with_the_file_and_why(data: Any, said: str) -> None:
    with pytest.raises(SampleError) as caught:
        read_samples({"a.json": json.dumps(data)})
    assert str(caught.value).startswith("a.json: ")
    assert said in str(caught.value)


def test_an_id_is_for_one_sample_in_all_files() -> None:
    with pytest.raises(SampleError, match=r"b\.json: the id 'a' is in a\.json too"):
        read_samples({"a.json": json.dumps([RAW]), "b.json": json.dumps([RAW])})
