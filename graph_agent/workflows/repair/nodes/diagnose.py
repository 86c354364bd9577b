"""INTAKE and DIAGNOSE: what is there before any plan, by rules and tools alone.

The rule: a run goes on only when it may, and when something fails that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import Any

from graph_agent.protocols import Context, ToolError, ToolResult
from graph_agent.runtime.fanout import fan_out
from graph_agent.verify.report import Verdict, traceback_places
from graph_agent.workflows.repair.nodes.verify import check_of, fails, shortened, stable, with_output
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import LinesRun, Observation, TaskState

WORKERS = 4
MOST_OUTPUT = 8_000  # characters of a test run's output that an observation keeps
_DIFFERS = re.compile(r'^diff --git "?a/(.*?)"? "?b/', re.MULTILINE)
_TRACED = ("failing", "passing", "traceback", "failing_tests", "passing_tests")
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\s*\(")


def intake(state: TaskState, ctx: Context) -> dict[str, Any]:
    """May this be worked on at all? Takes down what each file is, so that the guard can tell what changed."""
    policy: EvaluationPolicy = ctx.policy
    if not state.request.strip():
        return {"blocked": ""}  # the router ends an empty request; a person has nothing to answer
    forbidden = _forbidden(state, policy)
    if forbidden:
        return {"risks": (forbidden,), "blocked": forbidden}
    workspace = PurePath(state.workspace)
    if ".." in workspace.parts or not workspace.is_relative_to(policy.allowed_root):
        return {"blocked": f"the workspace is outside of the allowed root: {state.workspace}"}
    listed = ctx.tools.call("list_files")
    if not listed.ok:
        return {"blocked": f"the workspace can't be listed: {listed.error}"}
    if not any(policy.may_write(file.path) for file in listed.value):
        globs = ", ".join(policy.write)
        return {"blocked": f"no file may be changed: none of {len(listed.value)} matches {globs} and is not protected"}
    return {"baseline": tuple(listed.value), "blocked": ""}


def _forbidden(state: TaskState, policy: EvaluationPolicy) -> str:
    """What only a person may decide on and has not."""
    word = policy.forbidden_word(state.request)
    risk = f"the request says {word!r}, which only a person may decide on" if word else ""
    return "" if risk in state.risks and state.risk == "low" else risk


def diagnose(state: TaskState, ctx: Context) -> dict[str, Any]:
    """Run the tests, trace the failing ones, read what they point at; keep what the tools returned."""
    look = _Look(state=state, ctx=ctx, policy=ctx.policy)
    blocked = _run_tests(look) or _left_behind(look) or _read_sources(look)
    return {"observations": tuple(look.seen), "risks": tuple(look.risks), "blocked": blocked}


@dataclass
class _Look:
    state: TaskState
    ctx: Context
    policy: EvaluationPolicy
    seen: list[Observation] = field(default_factory=list)
    risks: list[str] = field(default_factory=list)
    failing: Command | None = None
    output: str = ""
    diff: str = ""

    def observe(self, source: str, text: str, **more: Any) -> None:
        number = len(self.state.observations) + len(self.seen) + 1
        self.seen.append(Observation(id=f"O{number}", source=source, text=text, **more))

    def call(self, tool: str, *inputs: dict[str, Any]) -> list[ToolResult | str]:
        """Side by side; the results in order, a sentence where there is none."""
        jobs = [partial(self.ctx.tools.call, tool, **given) for given in inputs]
        outcomes = fan_out(jobs, workers=WORKERS, job_timeout=self.policy.look_timeout, on_timeout="cancel_rest")
        return [one.value if one.ok and one.value else f"{one.status}: {one.error or ''}" for one in outcomes]

    def read(self, paths: list[str]) -> list[str]:
        """Returns what could not be read."""
        results = self.call("read_file", *({"path": path} for path in paths))
        unread = []
        for path, result in zip(paths, results, strict=True):
            if isinstance(result, ToolResult) and result.ok and not result.value.truncated:
                self.observe("read_file", result.value.text, path=path, sha256=result.value.sha256)
            else:
                unread.append(f"{path} ({_why(result)})")
        return unread


def _run_tests(look: _Look) -> str:
    """Returns why the run can't go on, or ""."""
    commands = look.policy.tests
    results = look.call("run_command", *({"argv": command.argv} for command in commands))
    (diff,) = look.call("diff", {})
    if isinstance(diff, ToolResult) and diff.ok:
        look.diff = diff.value
        look.observe("diff", shortened(look.diff, MOST_OUTPUT) or "nothing differs from the baseline")
    else:
        look.risks.append(f"the diff could not be read: {_why(diff)}")
    if not commands:
        return "no test runs: the policy has no test command"
    reasons = [_observe_run(look, command, result) for command, result in zip(commands, results, strict=True)]
    if look.failing is not None:
        return ""
    return next((reason for reason in reasons if reason), "nothing fails: all tests pass before any change")


def _left_behind(look: _Look) -> str:
    """Why no patch could ever pass the guard, or ""."""
    paths = [path for path in _DIFFERS.findall(look.diff) if not look.policy.may_write(path)]
    if not paths:
        return ""
    return f"before any edit {', '.join(paths[:5])} differs from the baseline, and may not: do the tests write there?"


def _observe_run(look: _Look, command: Command, result: ToolResult | str) -> str:
    """Returns why the run proves nothing, or ""."""
    if isinstance(result, str):
        look.observe(f"run_command {command.text}", f"the command did not come to an end: {result}")
        return f"no test runs: {command.text}: {result}"
    check = with_output(check_of(command, result), result, look.ctx)
    output = stable(result.value.output) if result.ok else ""
    if check.reason == "timed out":
        output = f"{output}\n{command.text} timed out\n".lstrip()
    look.observe(f"run_command {command.text}", shortened(output, MOST_OUTPUT), check=check)
    if fails(check):
        if look.failing is None:
            look.failing, look.output = command, output
        return ""
    return "" if check.verdict is Verdict.PASS else f"no test runs: {check.problem or check.reason}: {command.text}"


def _read_sources(look: _Look) -> str:
    trace = _trace(look)
    hung = any(one.check and one.check.reason == "timed out" for one in look.seen)
    if hung and not any(one.unfinished for one in look.seen):
        return "no test runs: the time was up before one was seen to begin; give it more"
    known = {file.path for file in look.state.baseline}
    pointed = [path for path, _ in traceback_places(look.output) if path in known]
    ran = (*trace.traceback, *trace.failing) if trace is not None else ()  # all there is of a test that never ends
    tests = [path for path in (*pointed, *ran) if path in known and not look.policy.may_write(path)]
    unread = look.read(tests[:1])
    if unread:
        return f"the failing test can't be read: {unread[0]}"
    sources = list(dict.fromkeys(filter(look.policy.may_write, _suspects(look, trace, pointed, known))))
    unread = look.read(sources[: look.policy.max_reads])
    if not any(look.policy.may_write(one.path) for one in look.seen if one.source == "read_file"):
        return f"no source that the failing test points at can be read: {'; '.join(unread) or 'none was found'}"
    if unread and sources and unread[0].startswith(sources[0]):
        return f"the source that the failing test points at can't be read: {unread[0]}"
    return ""


def _suspects(look: _Look, trace: Any, pointed: list[str], known: set[str]) -> Iterator[str]:
    """The likeliest first: in a traceback, then run by failing tests, then named in one, then all others."""
    yield from pointed
    if trace is not None:
        yield from (path for path in trace.traceback if path in known)
        only = {path: len(set(run) - set(trace.passing.get(path, ()))) for path, run in trace.failing.items()}
        yield from (path for path in sorted(only, key=lambda path: (-only[path], path)) if path in known)
        if any(look.policy.may_write(path) for path in trace.failing):
            return
    elif not any(look.policy.may_write(path) for path in pointed):
        yield from _defining(look)
    yield from sorted(known)


def _defining(look: _Look) -> Iterator[str]:
    """Files that define what the failing test calls, when it can't be traced."""
    test = next((one.text for one in look.seen if one.source == "read_file"), look.output)
    names = [name for name in dict.fromkeys(_CALLED.findall(test)) if not name.startswith(("test", "assert"))]
    if not names:
        return
    found = look.ctx.tools.call("search", text=rf"^\s*(?:def|class) (?:{'|'.join(names[:40])})\b", regex=True)
    if found.ok:
        look.observe("search", "\n".join(f"{hit.path}:{hit.line}: {hit.text.strip()}" for hit in found.value.hits))
        yield from (hit.path for hit in found.value.hits)


def _trace(look: _Look) -> Any:
    assert look.failing is not None
    (result,) = look.call("trace_tests", {"argv": look.failing.argv})
    if not isinstance(result, ToolResult) or not result.ok:
        look.observe("trace_tests", f"the tests could not be traced: {_why(result)}")
        return None
    trace = result.value
    paths = sorted({*trace.failing, *trace.traceback} & {file.path for file in look.state.baseline})
    lines = tuple(
        LinesRun(
            path=path,
            failed=trace.failed,
            **{name: getattr(trace, name).get(path, ()) for name in _TRACED},
        )
        for path in paths
        if look.policy.may_write(path)
    )
    outcomes = "\n".join(f"{outcome}: {name}" for name, outcome in trace.tests if outcome != "passed")
    unfinished = tuple(name for name, outcome in trace.tests if outcome == "unfinished")
    look.observe("trace_tests", shortened(outcomes, MOST_OUTPUT), lines=lines, unfinished=unfinished)
    return trace


def _why(result: ToolResult | str) -> str:
    if isinstance(result, str):
        return result
    error: ToolError | None = result.error
    return str(error) if error else "it is too large to be read whole"
