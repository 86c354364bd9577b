"""DIAGNOSE keeps what tools saw, and goes on only when something fails that can be read."""

from __future__ import annotations

import time
from typing import Any

import pytest

from graph_agent import ToolError
from graph_agent.runtime.codec import decode, encode
from graph_agent.runtime.events import Event
from graph_agent.tools.command import CommandResult
from graph_agent.tools.files import Found, Hit
from graph_agent.tools.linetrace import Trace
from graph_agent.workflows.repair.policy import Command
from graph_agent.workflows.repair.state import LinesRun, Observation, Stage, TaskState
from tests.workflows.repairing import (
    CODE,
    FILES,
    GREEN,
    HUNG,
    RED,
    RIGHT,
    TEST,
    TESTS,
    diff_of,
    edited,
    file_text,
    infos,
    looking,
    one_step,
    ran,
    task,
    with_policy,
)

UNTRACEABLE = ToolError("no_trace", "Only pytest, unittest and Python files can be traced.")


def start(files: dict[str, str] | None = None, **fields: Any) -> TaskState:
    return task(Stage.DIAGNOSE, **{"baseline": infos(FILES if files is None else files), **fields})


def by_source(state: TaskState, begins: str) -> Observation:
    return next(one for one in state.observations if one.source.startswith(begins))


def test_what_the_tools_saw_stands_in_the_state_with_ids() -> None:
    after = one_step(start(), tools=looking())
    assert after.stage is Stage.PLAN
    assert [one.id for one in after.observations] == [f"O{n}" for n in range(1, len(after.observations) + 1)]
    assert by_source(after, "diff").text == "nothing differs from the baseline"
    run = by_source(after, "run_command python3 -m pytest -q")
    assert run.check is not None
    assert (run.check.exit_code, run.check.verdict.value, run.check.isolation) == (1, "fail", "bubblewrap")
    assert {one.path for one in after.observations if one.source == "read_file"} == {"shop.py", "tests/test_shop.py"}
    (lines,) = by_source(after, "trace_tests").lines
    assert (lines.path, lines.failing) == ("shop.py", (2,))


def test_each_look_costs_a_turn() -> None:
    events: list[Event] = []
    after = one_step(start(), tools=looking(), events=events)
    assert after.spent_turns == events[0].turns == 5, "diff, run, trace, two files"


def test_a_budget_too_small_for_the_look_goes_to_a_person() -> None:
    after = one_step(start(max_turns=2), tools=looking())
    assert (after.stage, after.spent_turns) == (Stage.HUMAN, 2)
    assert "2 of 2 turns are spent" in after.route_reason


def test_nothing_fails() -> None:
    after = one_step(start(), tools=looking(run_command=GREEN))
    assert after.stage is Stage.HUMAN
    assert after.route_reason.startswith("nothing fails")


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (ran("no tests ran in 0.01s", 5), "no tests ran"),
        (ran("Ran 0 tests in 0.000s\n\nOK"), "no tests ran"),
        (ran("3 skipped in 0.01s"), "all tests skipped"),
        (ran("all is well"), "no test report"),
        (ran("/usr/bin/python3: No module named pytest", 1), "command not found"),
        (ran("", None, problem="command not found: python3"), "command not found: python3"),
        (ran("", None, problem="isolation failed: bwrap: no"), "isolation failed"),
        (ran("!!! Interrupted: 1 error during collection !!!\n1 error in 0.1s", 2), "collection error"),
        (ToolError("not_allowed", "It is not among the commands."), "not among the commands"),
    ],
)
def test_no_test_runs(result: CommandResult | ToolError, why: str) -> None:
    answer = result if isinstance(result, CommandResult) else [result]
    after = one_step(start(), tools=looking(run_command=answer))
    assert after.stage is Stage.HUMAN
    assert after.route_reason.startswith("no test runs")
    assert why in after.route_reason


def test_a_policy_without_a_test_command_runs_no_test() -> None:
    after = one_step(start(), tools=looking(), policy=with_policy(commands=(Command(argv=("lint",), kind="check"),)))
    assert after.stage is Stage.HUMAN
    assert "no test command" in after.route_reason


def test_of_several_commands_one_that_fails_is_enough_and_it_is_the_one_that_is_traced() -> None:
    other = Command(argv=("python3", "-m", "unittest"))
    tools = looking(run_command=lambda argv: ran("Ran 0 tests\n\nOK", 5) if argv == other.argv else RED)
    after = one_step(start(), tools=tools, policy=with_policy(commands=(other, TESTS)))
    assert after.stage is Stage.PLAN
    assert [call.arguments["argv"] for call in tools.calls if call.tool == "trace_tests"] == [TESTS.argv]


def test_the_failing_test_cannot_be_read() -> None:
    denied = ToolError("io_error", "'tests/test_shop.py' could not be read: Permission denied.")
    tools = looking(read_file=lambda path: denied if path.startswith("tests") else FILES[path])
    after = one_step(start(), tools=tools)
    assert after.stage is Stage.HUMAN
    assert "the failing test can't be read: tests/test_shop.py" in after.route_reason
    assert "Permission denied" in after.route_reason


def test_the_source_that_the_test_points_at_cannot_be_read() -> None:
    plain = looking().only(("read_file",))
    tools = looking(
        read_file=lambda path: (
            ToolError("binary", "'shop.py' is no text file.")
            if path == "shop.py"
            else plain.call("read_file", path=path)
        )
    )
    after = one_step(start(), tools=tools)
    assert after.stage is Stage.HUMAN
    assert "can be read: shop.py" in after.route_reason
    assert "is no text file" in after.route_reason


def test_a_file_too_large_to_be_read_whole_counts_as_unread() -> None:
    plain = looking().only(("read_file",))

    def read(path: str) -> Any:
        whole = plain.call("read_file", path=path).value
        return type(whole)(path=path, text=whole.text, sha256=whole.sha256, truncated=path == "shop.py")

    after = one_step(start(), tools=looking(read_file=read))
    assert after.stage is Stage.HUMAN
    assert "too large" in after.route_reason


def test_an_unreadable_diff_is_a_risk_and_no_reason_to_stop() -> None:
    after = one_step(start(), tools=looking(diff=[ToolError("too_large", "The diff is too large.")]))
    assert after.stage is Stage.PLAN
    assert after.risks == ("the diff could not be read: The diff is too large.",)
    assert after.risk == "high", "nothing is written before a person has seen it"


def test_tests_that_leave_files_behind_go_to_a_person_before_anything_is_tried() -> None:
    """The guard would fail every patch for them, whatever it mends."""
    left = {**FILES, "out.txt": "x\n", "b c.log": "y\n"}
    after = one_step(start(), tools=looking(diff=diff_of(left)))
    assert after.stage is Stage.HUMAN
    assert "before any edit b c.log, out.txt differs from the baseline" in after.route_reason
    assert after.observations[0].source == "diff"


def test_a_source_that_differs_already_is_no_reason_to_stop() -> None:
    after = one_step(start(), tools=looking(diff=diff_of(edited(RIGHT))))
    assert after.stage is Stage.PLAN


def test_the_diff_is_taken_after_the_tests_have_run() -> None:
    tools = looking()
    one_step(start(), tools=tools)
    assert [call.tool for call in tools.calls][:2] == ["run_command", "diff"]


def test_a_look_that_takes_too_long_is_given_up_and_said() -> None:
    """The tests hang; the diff is there; what had not begun yet is not begun any more."""

    def hang(argv: tuple[str, ...]) -> CommandResult:
        time.sleep(0.6)
        return RED

    commands = tuple(Command(argv=("test", str(n))) for n in range(8))
    tools = looking(run_command=hang)
    after = one_step(start(max_turns=None), tools=tools, policy=with_policy(commands=commands, look_timeout=0.2))
    assert after.stage is Stage.HUMAN
    assert after.route_reason.startswith("no test runs")
    said = [one.text for one in after.observations if one.source.startswith("run_command")]
    assert len(said) == 8
    assert any("timeout" in text for text in said)
    assert any("cancelled" in text for text in said), "the rest was not begun"
    assert by_source(after, "diff")


def test_tests_that_hang_before_any_change_are_what_is_to_be_mended() -> None:
    trace = Trace(failing={"shop.py": (2,), "tests/test_shop.py": (4, 5)}, tests=(("test_ten", "unfinished"),))
    after = one_step(start(), tools=looking(run_command=HUNG, trace_tests=trace))
    assert after.stage is Stage.PLAN
    assert by_source(after, "trace_tests").unfinished == ("test_ten",)
    read = [one.path for one in after.observations if one.source == "read_file"]
    assert read == ["tests/test_shop.py", "shop.py"], "the test is found by the trace, there is no traceback"


def test_how_many_tests_ran_each_line_is_kept_beside_the_lines() -> None:
    trace = Trace(
        failing={"shop.py": (2,)},
        passing={"shop.py": (2, 3)},
        failing_tests={"shop.py": (2,)},
        passing_tests={"shop.py": (7, 1)},
        tests=(("test_ten", "failed"), ("test_two", "failed"), ("test_one", "passed")),
    )
    (lines,) = by_source(one_step(start(), tools=looking(trace_tests=trace)), "trace_tests").lines
    assert (lines.failing_tests, lines.passing_tests, lines.failed) == ((2,), (7, 1), 2)
    assert decode(LinesRun, encode(lines)) == lines
    assert {lines: "it can be hashed"}


def test_a_command_that_cannot_be_traced_falls_back_to_a_search_for_what_the_test_calls() -> None:
    files = {**FILES, "aaa.py": "x = 1\n"}
    hits = (Hit(path="shop.py", line=1, text="def total(prices, discount):"),)
    tools = looking(
        trace_tests=[UNTRACEABLE],
        search=Found(hits=hits),
        run_command=ran("tests/test_shop.py:5: AssertionError\n1 failed in 0.1s", 1),
    )
    after = one_step(start(files), tools=tools, policy=with_policy(max_reads=1))
    assert after.stage is Stage.PLAN
    assert "could not be traced" in by_source(after, "trace_tests").text
    (call,) = (call for call in tools.calls if call.tool == "search")
    assert "total" in call.arguments["text"]
    assert [one.path for one in after.observations if one.source == "read_file"][1:] == ["shop.py"]


def test_at_most_so_many_sources_are_read_the_likeliest_first() -> None:
    files = {**FILES, **{f"m{n}.py": "x = 1\n" for n in range(5)}}
    trace = Trace(failing={"m3.py": (1,), "m1.py": (1, 2)}, passing={"m1.py": (1, 2)}, traceback={"shop.py": (2,)})
    tools = looking(trace_tests=trace, read_file=lambda path: file_text(path, files))
    after = one_step(start(files), tools=tools, policy=with_policy(max_reads=2))
    read = [one.path for one in after.observations if one.source == "read_file"]
    assert read == ["tests/test_shop.py", "shop.py", "m3.py"]


def test_no_clock_time_and_no_address_stays_in_the_output() -> None:
    noisy = "<object at 0x7f11aabbccdd> in /tmp/graph-agent-x1y2z3/a\n1 failed in 0.37s\n"
    quiet = "<object at 0x7f99887766aa> in /tmp/graph-agent-q7q7q7/a\n1 failed in 12.01s\n"
    texts = [
        by_source(one_step(start(), tools=looking(run_command=ran(text, 1))), "run_command").text
        for text in (noisy, quiet)
    ]
    assert texts[0] == texts[1]


def test_long_output_is_kept_at_both_ends() -> None:
    text = "FIRST\n" + "x" * 50_000 + "\nLAST\n1 failed in 0.1s\n"
    kept = by_source(one_step(start(), tools=looking(run_command=ran(text, 1))), "run_command").text
    assert kept.startswith("FIRST")
    assert "characters left out" in kept
    assert "LAST" in kept
    assert len(kept) < 10_000


def test_a_second_look_adds_to_the_first_and_counts_on() -> None:
    first = one_step(start(), tools=looking(run_command=GREEN))
    again = one_step(start(observations=first.observations), tools=looking())
    ids = [one.id for one in again.observations]
    assert ids == [f"O{n}" for n in range(1, len(ids) + 1)]
    assert again.stage is Stage.PLAN


def test_texts_are_kept_whole_with_their_hash() -> None:
    after = one_step(start(), tools=looking())
    source = next(one for one in after.observations if one.path == "shop.py")
    assert source.text == CODE
    assert len(source.sha256) == 64
    assert next(one for one in after.observations if one.path.startswith("tests")).text == TEST
