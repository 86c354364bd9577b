"""Judge the judge: how many good samples pass, how many bad ones are blocked, kind by kind, and which knob to turn.

SAMPLES is a JSON file or a folder of them: lists of {"id", "task", "criterion", "evidence", "output", "label", "kind"}.
They go through the layers of a run: structure, evidence, judge. A third, chosen by the hash of the id, is held back for
--final, which counts its runs in .final-runs beside the samples. Exit codes: 0 the targets are met, 1 they are missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graph_agent.cli.exits import DONE, FAILED, UsageError
from graph_agent.cli.judges import MODEL, RULES, Chosen, add_judge_options, judge_words, local_judge
from graph_agent.cli.models import without_query
from graph_agent.cli.printing import print_json, visible
from graph_agent.verify.calibration import KINDS, TARGET_GOOD, Calibration, Sample, examine, read_samples, split
from graph_agent.view.steps import table
from graph_agent.workflows.research.state import PASSING

COUNTED_IN = ".final-runs"
MOST_LISTED = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("samples", nargs="?", metavar="SAMPLES", help="a JSON file of samples, or a folder of such")
    words = "who judges: the rules (default), a model, or a judge service such as http://127.0.0.1:8128/judge"
    add_judge_options(parser, metavar=("rules|model|http://.../judge", "URL"), words=words)
    parser.add_argument(
        "--timeout", type=float, default=30.0, help="seconds for a judge service (default: %(default)g)"
    )
    parser.add_argument(
        "--threshold", type=float, default=PASSING, help="share of the criteria that must be met (default: %(default)g)"
    )
    parser.add_argument("--final", action="store_true", help="run the held-back third, and nothing else; it is counted")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")


def run(options: argparse.Namespace) -> int:
    words, more = judge_words(options.judge)
    place = Path(_samples_named(options.samples, more))
    if not 0 < options.threshold <= 1:
        raise UsageError(f"--threshold {options.threshold:g}: give a share above 0 and up to 1")
    chosen = _chosen(words, options)
    tuned_on, held_back = split(_read(place))
    counter = (place if place.is_dir() else place.parent) / COUNTED_IN
    if options.final:
        _count(counter, chosen, held_back)
    some = held_back if options.final else tuned_on
    examined = tuple(examine(one, chosen.judge) for one in some)
    found = Calibration(examined=examined, threshold=options.threshold)
    facts = {
        "judge": chosen.name,
        "final": options.final,
        "samples": len(some),
        "held_back": len(held_back),
        "final_runs": _times(counter),
        "counted_in": str(counter),
    }
    if options.json:
        print_json(_data(found, facts))
    else:
        print(visible(_told(found, facts)))
    return DONE if found.met else FAILED


def _samples_named(given: str | None, more: list[str]) -> str:
    named = [*([given] if given is not None else []), *more]
    if len(named) != 1:
        said = f"these are {len(named)}: {', '.join(named)}" if named else "there is none"
        raise UsageError(f"name one file or folder of samples ({said}), as in calibrate SAMPLES --judge rules")
    return named[0]


def _chosen(words: list[str], options: argparse.Namespace) -> Chosen:
    url = words[0]
    if not url.lower().startswith(("http://", "https://")):
        if url not in (RULES, MODEL) and "/" in url:
            raise UsageError(f"--judge {url!r} is no judge: give rules, model URL, or a URL that starts with http")
        return local_judge(words, options)
    from graph_agent.verify.remote import JudgeURLError, RemoteJudge

    if not 0 < options.timeout <= 86_400:
        raise UsageError(f"--timeout {options.timeout:g}: give seconds, more than 0 and at most a day")
    try:
        return Chosen(judge=RemoteJudge(url, timeout=options.timeout), name=without_query(url))
    except JudgeURLError as error:
        raise UsageError(f"--judge: {error}") from error


def _read(place: Path) -> tuple[Sample, ...]:
    """Raises `UsageError` where there is nothing to read, and `SampleError` for what can't be used."""
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files or not all(file.is_file() for file in files):
        raise UsageError(f"there are no samples in {place}: give a JSON file, or a folder that has some")
    try:
        return read_samples({str(file): file.read_text(encoding="utf-8") for file in files})
    except UnicodeDecodeError as error:
        raise UsageError(f"the samples in {place} are not UTF-8: {error.reason} at byte {error.start}") from error


def _count(counter: Path, chosen: Chosen, samples: tuple[Sample, ...]) -> None:
    """A line for this run, before anything is seen of it: one that is broken off has been run too."""
    line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "judge": chosen.name, "samples": len(samples)}
    with counter.open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(line) + "\n")


def _times(counter: Path) -> int:
    return len(counter.read_text(encoding="utf-8").splitlines()) if counter.exists() else 0


def _told(found: Calibration, facts: dict[str, Any]) -> str:
    """The report for a person."""
    width = shutil.get_terminal_size((100, 24)).columns
    part = "the held-back third" if facts["final"] else f"{facts['samples']} samples"
    blocks = [
        f"{part}, judged by {facts['judge']}, threshold {found.threshold:g}",
        _rates(found, width),
        _confusion(found),
        "" if facts["final"] else _thresholds(found, width),  # to choose by it would be to tune on it
        _misses(found),
        _verdict(found),
        _held_back(facts),
    ]
    return "\n\n".join(block.rstrip() for block in blocks if block)


def _rates(found: Calibration, width: int) -> str:
    header = ("kind", "samples", "passed", "blocked", "rate", "by structure", "by evidence", "by judge", "unknown")
    rows = [
        (
            one.kind,
            *map(str, (one.count, one.passed, one.blocked)),
            _share(one.passed if number == 0 else one.blocked, one.count),
            *map(str, (one.structure, one.evidence, one.judge, one.unknown)),
        )
        for number, one in enumerate(found.rows)
    ]
    note = "rate: of the good those that pass, of the bad those that are blocked; unknown: the judge did not say"
    return table(header, rows, width=width, right=set(range(1, len(header)))) + note


def _confusion(found: Calibration) -> str:
    rows = [(name, *map(str, counts.values())) for name, counts in _counts(found).items()]
    return table(("", "passed", "blocked"), rows, right={1, 2})


def _thresholds(found: Calibration, width: int) -> str:
    rows = [
        (
            f"{one.threshold:g}{' (this one)' if one.threshold == found.threshold else ''}",
            _share(one.good_passed, len(found.good)),
            _share(one.bad_blocked, len(found.bad)),
            "yes" if one.meets else "no",
        )
        for one in found.tried
    ]
    return table(("threshold", "good passed", "bad blocked", "meets the targets"), rows, width=width, right={1, 2})


def _misses(found: Calibration) -> str:
    lost = [f"good, and blocked by {one.layer}: {one.sample.id} ({one.why})" for one in found.lost]
    lines = [*lost, *(f"{one.sample.kind}, and passed: {one.sample.id}" for one in found.let_through)]
    more = [f"and {len(lines) - MOST_LISTED} more, which --json lists"] if len(lines) > MOST_LISTED else []
    return "\n".join([*lines[:MOST_LISTED], *more])


def _verdict(found: Calibration) -> str:
    there = {one.sample.kind for one in found.bad}
    lines = [f"the targets are {'met' if found.met else 'MISSED'}: {TARGET_GOOD:.0%} of the good pass, no bad one does"]
    lines += [f"no sample of the kind {kind}: nothing is known of it" for kind in KINDS if kind not in there]
    for knob in found.knobs:
        count = len(knob.samples)
        of = f" ({count} sample{'s' * (count > 1)})" if count else ""
        lines.append(f"turn: {knob.name}{of}: {knob.advice}")
    return "\n".join(lines)


def _held_back(facts: dict[str, Any]) -> str:
    times, where = facts["final_runs"], f"counted in {facts['counted_in']}"
    often = {0: "never been run", 1: "been run once", 2: "been run twice"}.get(times, f"been run {times} times")
    if not facts["final"]:
        return f"{facts['held_back']} samples are held back for --final, which has {often} ({where})"
    more = ": who tunes on it has nothing left to check on" if times > 1 else ""
    return f"the held-back third has now {often} ({where}){more}"


def _share(some: int, count: int) -> str:
    return f"{100 * some // count}%" if count else "-"  # rounded down: 89.9% is no 90%


def _counts(found: Calibration) -> dict[str, dict[str, int]]:
    lost, let_through = len(found.lost), len(found.let_through)
    return {
        "good": {"passed": len(found.good) - lost, "blocked": lost},
        "bad": {"passed": let_through, "blocked": len(found.bad) - let_through},
    }


def _data(found: Calibration, facts: dict[str, Any]) -> dict[str, Any]:
    good, *bad = ({"kind": one.kind} | _row_data(one) for one in found.rows)
    missed = [*found.lost, *found.let_through]
    return {
        "status": "met" if found.met else "missed",
        "exit_code": DONE if found.met else FAILED,
        **facts,
        "threshold": found.threshold,
        "targets": {"good_passed": TARGET_GOOD, "bad_blocked": 1.0},
        "good": good,
        "bad": bad,
        "confusion": _counts(found),
        "thresholds": [] if facts["final"] else [vars(one) for one in found.tried],
        "wrong": [
            {
                "id": one.sample.id,
                "label": one.sample.label,
                "kind": one.sample.kind,
                "layer": one.layer,
                "why": one.why,
            }
            for one in missed
        ],
        "knobs": [{"knob": one.name, "samples": list(one.samples), "advice": one.advice} for one in found.knobs],
    }


def _row_data(row: Any) -> dict[str, Any]:
    names = ("count", "passed", "blocked", "structure", "evidence", "judge", "unknown")
    right = row.passed if row.kind == "good" else row.blocked
    return {name: getattr(row, name) for name in names} | {"rate": right / row.count if row.count else None}
