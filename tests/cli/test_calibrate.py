"""`calibrate`: real processes on the shipped samples and on changed ones, with the rules, a model and a service."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from graph_agent.verify.calibration import read_samples, split
from graph_agent.verify.judge import Item
from graph_agent.verify.service import app, make_app
from tests.cli.running import FIXTURES, Ended, cli, variables
from tests.llm.chat_server import says, serve
from tests.verify.judge_server import serving

pytestmark = pytest.mark.slow

GOOD = {
    "task": "Find the limit.",
    "criterion": "gives a number",
    "evidence": {"E1": "The limit is 25 steps."},
    "output": '"The limit is 25 steps." [E1]',
    "label": "good",
    "kind": "good",
}
TALK = GOOD | {"output": "Limits are a matter of great importance today. [E1]", "label": "bad", "kind": "empty_talk"}


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A copy, since a final run is counted beside the samples."""
    copy = shutil.copytree(FIXTURES / "judge", tmp_path / "judge", ignore=shutil.ignore_patterns(".*"))
    return Path(copy)


def calibrate(*words: str | Path, home: Path, **env: str) -> Ended:
    return cli("calibrate", *words, home=home, env=variables(home, **env))


def written(folder: Path, *samples: dict[str, Any], held_back: bool = False) -> Path:
    """A file of samples with ids of the wanted part."""
    names = (f"s{number}" for number in range(1000))
    kept = []
    for one in samples:
        while True:
            named = one | {"id": next(names)}
            (read,) = read_samples({"x": json.dumps([named])})
            if read.held_back is held_back:
                kept.append(named)
                break
    file = folder / "samples.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    return file


def test_the_rules_meet_the_targets_on_the_shipped_samples(shipped: Path, tmp_path: Path) -> None:
    ended = calibrate(shipped, home=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "the targets are met: 90% of the good pass, no bad one does" in ended.out
    for kind in ("good", "wrong_format", "invented_citation", "off_the_question", "empty_talk"):
        assert any(line.startswith(kind) for line in ended.out.splitlines())
    assert "0.8 (this one)" in ended.out
    assert "held back for --final, which has never been run (counted in " in ended.out
    assert not (shipped / ".final-runs").exists()


def test_json_has_the_rates_the_confusion_and_the_thresholds(shipped: Path, tmp_path: Path) -> None:
    data = calibrate(shipped, "--judge", "rules", "--json", home=tmp_path).data
    assert (data["status"], data["exit_code"], data["judge"], data["final"]) == ("met", 0, "rules", False)
    assert data["good"]["rate"] >= 0.9
    assert {one["kind"]: one["rate"] for one in data["bad"]} == {
        "wrong_format": 1.0, "invented_citation": 1.0, "off_the_question": 1.0, "empty_talk": 1.0
    }  # fmt: skip
    confusion = data["confusion"]
    assert confusion["bad"] == {"passed": 0, "blocked": sum(one["count"] for one in data["bad"])}
    assert sum(confusion["good"].values()) == data["good"]["count"]
    assert data["samples"] == sum(sum(counts.values()) for counts in confusion.values())
    assert {0.5, 0.8, 1.0} <= {one["threshold"] for one in data["thresholds"]}
    assert all(set(one) == {"threshold", "good_passed", "bad_blocked", "meets"} for one in data["thresholds"])
    assert data["knobs"] == []


def test_the_held_back_third_is_run_with_final_alone_and_counted(shipped: Path, tmp_path: Path) -> None:
    every = read_samples({path.name: path.read_text(encoding="utf-8") for path in shipped.glob("*.json")})
    tuned_on, held_back = map(len, split(every))
    first = calibrate(shipped, "--json", home=tmp_path).data
    assert (first["samples"], first["held_back"], first["final_runs"]) == (tuned_on, held_back, 0)
    final = calibrate(shipped, "--final", "--json", home=tmp_path)
    assert (final.code, final.data["samples"], final.data["final_runs"]) == (0, held_back, 1)
    assert final.data["thresholds"] == []  # who chooses by them has tuned on what was held back
    assert final.data["counted_in"] == str(shipped / ".final-runs")
    told = calibrate(shipped, "--final", home=tmp_path).out
    assert f"the held-back third has now been run twice (counted in {shipped / '.final-runs'})" in told
    assert "who tunes on it has nothing left to check on" in told
    assert "threshold  " not in told
    assert "--final, which has been run twice" in calibrate(shipped, home=tmp_path).out
    lines = [json.loads(line) for line in (shipped / ".final-runs").read_text(encoding="utf-8").splitlines()]
    assert [(one["judge"], one["samples"]) for one in lines] == [("rules", held_back)] * 2


def test_a_final_run_that_can_not_be_counted_is_not_run(shipped: Path, tmp_path: Path) -> None:
    (shipped / ".final-runs").mkdir()
    ended = calibrate(shipped, "--final", home=tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ".final-runs" in ended.err


def test_the_counter_of_one_file_is_beside_it(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD, TALK, held_back=True)
    assert calibrate(file, "--final", "--json", home=tmp_path).data["counted_in"] == str(tmp_path / ".final-runs")


def test_a_missed_target_is_a_1_with_the_samples_and_the_knob(tmp_path: Path) -> None:
    fine = GOOD | {"criterion": "names the committee that decided on the limit"}
    ended = calibrate(written(tmp_path, GOOD, fine, TALK), home=tmp_path)
    assert ended.code == 1
    assert "the targets are MISSED" in ended.out
    assert "good, and blocked by judge: s" in ended.out
    assert "turn: criterion too fine (1 sample): " in ended.out
    assert "no sample of the kind invented_citation: nothing is known of it" in ended.out


def test_a_bad_sample_that_passes_says_that_the_judge_is_too_lenient(tmp_path: Path) -> None:
    beside = GOOD | {"label": "bad", "kind": "off_the_question"}
    ended = calibrate(written(tmp_path, GOOD, beside), "--json", home=tmp_path)
    assert (ended.code, ended.data["status"]) == (1, "missed")
    (knob,) = ended.data["knobs"]
    assert knob["knob"] == "judge too lenient"
    assert [one["id"] for one in ended.data["wrong"]] == knob["samples"]


def test_a_threshold_of_ones_own_is_in_force_and_among_those_tried(tmp_path: Path) -> None:
    half = GOOD | {"criterion": ["gives a number", "names the committee that decided on it"]}
    file = written(tmp_path, half, TALK)
    assert calibrate(file, home=tmp_path).code == 1
    ended = calibrate(file, "--threshold", "0.45", "--json", home=tmp_path)
    assert (ended.code, ended.data["threshold"]) == (0, 0.45)
    assert 0.45 in [one["threshold"] for one in ended.data["thresholds"]]


def test_samples_may_stand_behind_the_judge(shipped: Path, tmp_path: Path) -> None:
    assert calibrate("--judge", "rules", shipped, home=tmp_path).code == 0


def test_a_service_comes_to_the_same_as_the_judge_behind_it(shipped: Path, tmp_path: Path) -> None:
    with serving(app) as port:
        url = f"http://127.0.0.1:{port}/judge"
        there = calibrate(shipped, "--judge", f"{url}?key=zz-CANARY", "--json", home=tmp_path)
    here = calibrate(shipped, "--json", home=tmp_path)
    assert there.data | {"judge": "rules"} == here.data
    assert there.data["judge"] == url


def test_a_service_that_lets_all_pass_is_found_out(shipped: Path, tmp_path: Path) -> None:
    class Lenient:
        def judge(self, task: str, criteria: Any, output: str, /) -> tuple[Item, ...]:
            return tuple(Item(criterion=one, status="satisfied") for one in criteria)

    with serving(make_app(Lenient())) as port:
        data = calibrate(shipped, "--judge", f"http://127.0.0.1:{port}", "--json", home=tmp_path).data
    rates = {one["kind"]: one["rate"] for one in data["bad"]}
    assert rates["off_the_question"] == rates["empty_talk"] == 0
    assert [one["knob"] for one in data["knobs"]] == ["judge too lenient"]


def test_a_service_that_is_away_is_unknown_and_no_target_is_met(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = written(tmp_path, GOOD, TALK)
    ended = calibrate(file, "--judge", f"http://127.0.0.1:{port}/judge", home=tmp_path)
    assert ended.code == 1
    assert "turn: judge does not answer (1 sample): no knob helps before it does: " in ended.out
    assert "can't be reached" in ended.out


def test_a_model_judges_in_the_wording_that_is_asked_for(tmp_path: Path) -> None:
    statuses = ("satisfied", "insufficient_evidence")
    script = [
        says(json.dumps({"concerns": "none", "items": [{"number": 1, "status": one, "why": "so"}]})) for one in statuses
    ]
    with serve(*script) as model:
        words = ["--judge", "model", model.url, "--model-name", "small", "--wording", "2", "--json"]
        ended = calibrate(written(tmp_path, GOOD, TALK), *words, home=tmp_path, GRAPH_AGENT_LLM_KEY="zz-CANARY-123")
    assert (ended.code, ended.data["judge"]) == (0, f"small at {model.url}, wording 2")
    assert all("second reader" in json.dumps(body) for body in model.bodies)
    assert len(model.bodies) == 2
    assert "CANARY" not in ended.out + ended.err


def test_a_long_list_of_misses_is_cut_and_says_so(tmp_path: Path) -> None:
    fine = GOOD | {"criterion": "names the committee that decided on the limit"}
    ended = calibrate(written(tmp_path, *[fine] * 14, TALK), home=tmp_path)
    assert ended.out.count("good, and blocked by judge") == 10
    assert "and 4 more, which --json lists" in ended.out


def test_what_a_terminal_would_obey_is_not_printed(tmp_path: Path) -> None:
    fine = GOOD | {"criterion": "names \x1b[31m the committee of \x07 decisions"}
    assert "\x1b" not in calibrate(written(tmp_path, fine, TALK), home=tmp_path).out


USAGE: dict[str, tuple[list[str], int, str]] = {
    "no samples": ([], 2, "there is none"),
    "samples twice": (["a.json", "--judge", "rules", "b.json"], 2, "these are 2: a.json, b.json"),
    "no such place": (["nowhere"], 2, "there are no samples in nowhere"),
    "an empty folder": (["empty"], 2, "there are no samples in empty"),
    "a judge that is none": (["a.json", "--judge", "modle"], 2, "did you mean 'model'"),
    "a URL of no use": (["a.json", "--judge", "http://u:p@host/judge"], 2, "of no use for a judge"),
    "a threshold of nought": (["a.json", "--threshold", "0"], 2, "above 0 and up to 1"),
    "no threshold": (["a.json", "--threshold", "nan"], 2, "above 0 and up to 1"),
    "no time": (["a.json", "--judge", "http://host/judge", "--timeout", "0"], 2, "give seconds"),
    "a wording that is none": (["a.json", "--wording", "3"], 2, "invalid choice"),
    "no JSON": (["broken.json"], 1, "broken.json: not JSON"),
    "no text": (["latin.json"], 2, "not UTF-8"),
}


@pytest.mark.parametrize("words, code, said", USAGE.values(), ids=USAGE)
def test_what_can_not_be_calibrated_says_why_and_what_to_give(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    written(tmp_path, GOOD, TALK).rename(tmp_path / "a.json")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.json").write_text("[", encoding="utf-8")
    (tmp_path / "latin.json").write_bytes(b'["\xe9"]')
    ended = calibrate(*words, home=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert "u:p" not in ended.err
