"""A repair verified once more, away from the loop: what it says of itself, and what its patch is worth on a fresh copy.

The rule: the copy is the original and what the journal says was written, so nothing that was done to the run's own
workspace can help it; held-out tests run whatever the run had left of its budget for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from graph_agent.protocols import Context
from graph_agent.verify.report import Verdict
from graph_agent.workflows.repair.nodes.verify import check_of, verify
from graph_agent.workflows.repair.policy import Command, EvaluationPolicy
from graph_agent.workflows.repair.state import Check, Stage, TaskState, Verification


def claimed(state: TaskState) -> Verdict:
    """What the run says of its patch: PASS at DONE, else what its latest verification of these very edits came to."""
    if state.stage is Stage.DONE:
        return Verdict.PASS
    latest = state.verification
    return latest.verdict if latest is not None and latest.attempt == state.attempt else Verdict.UNKNOWN


def written(state: TaskState) -> dict[str, str]:
    """The files that are not as they were at first, with the hash that the run left them with."""
    first = {file.path: file.sha256 for file in state.baseline}
    after = {change.path: change.after for change in state.changes}
    return {path: hash_ for path, hash_ in after.items() if hash_ != first.get(path)}


def strange(recorded: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The files that are not what is recorded of them, by their hashes."""
    return tuple(
        f"{path} is {'another' if path in now else 'gone'}"
        for path, then in sorted(recorded.items())
        if now.get(path) != then
    )


def verified_again(state: TaskState, ctx: Context) -> Verification:
    """As VERIFY does it, on the tools of `ctx`, with the held-out tests though their budget is spent."""
    policy: EvaluationPolicy = ctx.policy
    whole = replace(ctx, policy=replace(policy, holdout_runs=1))
    made: Verification = verify(replace(state, verifications=()), whole)["verifications"][0]
    return made


def checked(commands: Iterable[Command], ctx: Context) -> tuple[Check, ...]:
    """Commands that the loop does not run, each to the end."""
    return tuple(check_of(one, ctx.tools.call("run_command", argv=one.argv)) for one in commands)


def found(verifications: Iterable[Verification], checks: Iterable[Check]) -> tuple[Verdict, tuple[str, ...]]:
    """What all of them come to, and what stands against a pass."""
    told = [(one.verdict, one.reason) for one in verifications]
    told += [(one.verdict, f"{one.reason}: {one.command}{_last_line(one)}") for one in checks]
    verdicts = {verdict for verdict, _ in told}
    worst = next((one for one in (Verdict.FAIL, Verdict.UNKNOWN) if one in verdicts), Verdict.PASS)
    return worst, tuple(dict.fromkeys(why for verdict, why in told if verdict is not Verdict.PASS))


def _last_line(check: Check) -> str:
    said = check.problem or next((line.strip() for line in reversed(check.summary.splitlines()) if line.strip()), "")
    return f" ({said[:200]})" if said else ""
