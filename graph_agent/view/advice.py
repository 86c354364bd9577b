"""How to read the figures of some runs: a line for each sign that they show, with where to look.

The rule: only what applies to these very figures is said, with the counts that it rests on; a share that rises from
the older half of the runs to the newer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graph_agent.view.metrics import RunMetrics
from graph_agent.view.spread import shown, spread

NOTABLE = 0.2
"""From which share, or rise of a share, a sign is told."""
FEW = 5
"""With fewer runs in a half, a rise is chance."""
LONG = 5
"""How many times the middle one the 90th percentile of the seconds may be."""


@dataclass(frozen=True, kw_only=True)
class Sign:
    """`part` of a `whole` in one run, the words for it, and where to look when the share is notable."""

    words: str
    part: Callable[[RunMetrics], float]
    whole: Callable[[RunMetrics], float]
    look: str

    def share(self, some: Sequence[RunMetrics]) -> float:
        return sum(map(self.part, some)) / (sum(map(self.whole, some)) or 1)


def reading(some: Sequence[RunMetrics]) -> Iterator[str]:
    """What these runs show, the likeliest cause with each."""
    in_order = sorted(some, key=lambda one: one.began)
    older, newer = in_order[: len(some) // 2], in_order[len(some) // 2 :]
    for sign in SIGNS:
        was, now = sign.share(older), sign.share(newer)
        rises = len(older) >= FEW and now - was >= NOTABLE
        if rises or sign.share(some) >= NOTABLE:
            part, whole = sum(map(sign.part, some)), sum(map(sign.whole, some))
            trend = f", rising from {was:.0%} in the older half of the runs to {now:.0%} in the newer" if rises else ""
            yield f"{shown(part)} of {shown(whole)} {sign.words}{trend}: {sign.look}"
    seconds = spread(one.total("seconds") for one in some)
    if seconds.count >= 2 * FEW and seconds.p90 >= max(1.0, LONG * seconds.p50):
        times = shown(seconds.p90 / seconds.p50) if seconds.p50 else "many"
        yield f"one run in ten takes {times} times as long as the middle one: the mean says little, look at single runs"
    if shortened := sum(one.shortened for one in some):
        yield f"{shortened} of {len(some)} runs were compacted: what their first steps cost is not in these figures"


def _fuse(name: str, look: str) -> Sign:
    return Sign(words=f"runs were stopped by {name}", part=lambda one: one.fuse == name, whole=lambda _: 1, look=look)


def _layer(name: str, look: str) -> Sign:
    return Sign(
        words=f"failed rounds of verification failed at {name}",
        part=lambda one: one.rounds.layers[name],
        whole=lambda one: one.rounds.failed,
        look=look,
    )


def _round(kind: str, look: str) -> Sign:
    return Sign(
        words=f"rounds of verification were {kind}",
        part=lambda one: one.rounds.kinds[kind],
        whole=lambda one: one.rounds.kinds.total(),
        look=look,
    )


def _plan(kind: str, look: str) -> Sign:
    return Sign(
        words=f"answers of the planner were {kind}",
        part=lambda one: one.plans[kind],
        whole=lambda one: one.plans.total(),
        look=look,
    )


SIGNS = (
    _fuse("replans", "the tasks or a tool have changed; compare with the days before by --by day"),
    _fuse("not converging", "new plans fail as the old ones did: look at the planner's prompt"),
    _fuse("rounds", "steps are tried again too often: look at the layer at which single rounds fail"),
    _fuse("retries", "first attempts are far off: look at what DIAGNOSE shows the model"),
    _fuse("turns", "the budget is too small for these tasks, or a node calls too often: see the turns a stage"),
    _fuse("dead end again", "the planner has no other idea: give it other tools, or say more in the goal"),
    _fuse("no valid plan", "the planner's model does not keep to the schema: try it with `doctor --model`"),
    _fuse("an error", "a model or a tool can't be reached: see `doctor`"),
    _fuse("a doubt", "processes died while a node with effects was at work: look at what killed them"),
    _fuse("cut short", "their process was ended, or its last fuse was low: `resume` goes on with them"),
    _fuse("the last fuse", "they go in circles: look at the routes of the steps that repeat, by `trace`"),
    _fuse("a person", "look at what they were asked, by `show`: it came too late, or without what decides it"),
    _layer("structure", "results without citations: a tool that returns nothing, or a prompt that is not followed"),
    _layer("evidence", "quotes or numbers that are not in what was read: the model writes from memory"),
    _layer("goal", "what is said is founded and not what was asked: criteria too fine, or a plan beside the point"),
    _layer("guard", "edits that quiet a test: the model is after the metric"),
    _layer("held-out tests", "what is visible is fitted and not mended: the visible tests say too little"),
    _round("PARTIAL", "a part of what was asked is not found: tools that find too little, or criteria too fine"),
    _round("UNKNOWN", "the judge, or the report of the tests, can't be read or does not decide"),
    _round("BLOCKED", "what is asked needs information from outside: say it in the goal, or give a tool for it"),
    _plan("invalid", "the planner's schema or its list of tools is not understood: see the notes by `trace`"),
    _plan("repeated", "the planner does not take up that a plan has failed: look at how dead ends are told it"),
    Sign(
        words="tool calls had bad arguments",
        part=lambda one: one.total("bad_arguments"),
        whole=lambda one: one.total("tool_calls"),
        look="the description of a tool does not say what it takes",
    ),
    Sign(
        words="tool calls failed in another way",
        part=lambda one: one.total("tool_errors") - one.total("bad_arguments"),
        whole=lambda one: one.total("tool_calls"),
        look="a tool's description misleads, or what it reads has moved",
    ),
)
