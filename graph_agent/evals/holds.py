"""What must hold at the end of a run, looked up in its last state: what does not hold, in sentences.

The rule: pure; it is given the state as JSON has it, the stages passed and the files changed, and believes no field in
which a run could praise itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from graph_agent.evals.forms import AnswerHolds, Bound, ByDefault, Holds

_NOT_THERE: Any = object()
MOST = 120  # characters of a value that is told


def missed(holds: Holds, *, stages: Collection[str], state: Mapping[str, Any], by_default: bool) -> tuple[str, ...]:
    """What of `holds` the last state and the stages that were passed do not meet; a node's properties are elsewhere.

    `by_default`: the task's own model answered.
    """
    own = holds.by_default if by_default else ByDefault()
    whole = replace(holds, passes=(*holds.passes, *own.passes), fields={**holds.fields, **own.fields})
    return tuple(_missed(whole, stages, state))


def missed_changes(holds: Holds, changed: Collection[str]) -> tuple[str, ...]:
    """For a repair: files that differ and should not, or the other way round."""
    if not holds.changes or set(changed) == set(holds.changes):
        return ()
    return (f"the files changed are {_listed(changed)}, not {_listed(holds.changes)}",)


def _missed(holds: Holds, stages: Collection[str], state: Mapping[str, Any]) -> Iterator[str]:
    if state["stage"] not in holds.outcome:
        yield f"it ended at {state['stage']}, not at {' or '.join(holds.outcome)}: {state['route_reason']}"[: 3 * MOST]
    for stage in holds.passes:
        if stage not in stages:
            yield f"it was never at {stage}"
    for stage in holds.avoids:
        if stage in stages:
            yield f"it was at {stage}"
    for path, bound in holds.fields.items():
        yield from _out_of_bounds(path, bound, _at(state, path))
    if holds.answer != AnswerHolds():
        yield from _answer(holds.answer, state.get("answer"))


def _out_of_bounds(path: str, bound: Bound, value: Any) -> Iterator[str]:
    if value is _NOT_THERE:
        yield f"there is no {path} in the state"
        return
    size = len(value) if isinstance(value, str | list | dict) else value
    told = repr(value)[:MOST]
    if bound.equals is not None and (
        value != bound.equals or isinstance(value, bool) != isinstance(bound.equals, bool)
    ):
        yield f"{path} is {told}, not {bound.equals!r}"
    counts = isinstance(size, int | float)
    if bound.least is not None and not (counts and size >= bound.least):
        yield f"{path} is {told}, less than {bound.least:g}"
    if bound.most is not None and not (counts and size <= bound.most):
        yield f"{path} is {told}, more than {bound.most:g}"
    if bound.has is not None and _folded(bound.has) not in _folded(value if isinstance(value, str) else repr(value)):
        yield f"{path} is {told}, without {bound.has!r}"


def _answer(wanted: AnswerHolds, answer: Any) -> Iterator[str]:
    if not isinstance(answer, Mapping):
        yield "there is no answer"
        return
    text = _folded(answer["text"])
    cited = {one["place"].split(":")[0] for one in answer["sources"]}
    yield from (f"the answer does not say {one!r}" for one in wanted.has if _folded(one) not in text)
    yield from (f"the answer says {one!r}" for one in wanted.lacks if _folded(one) in text)
    yield from (f"{one} is not cited, but {_listed(cited)}" for one in wanted.cites if one not in cited)
    yield from (f"{one} is cited" for one in wanted.spares if one in cited)
    if wanted.caveat and _folded(wanted.caveat) not in _folded(" ".join(answer["caveats"])):
        yield f"no caveat says {wanted.caveat!r}"


def _at(state: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(state, list) and name.lstrip("-").isdigit():
            state = state[int(name)] if -len(state) <= int(name) < len(state) else _NOT_THERE
        else:
            state = state.get(name, _NOT_THERE) if isinstance(state, Mapping) else _NOT_THERE
        if state is _NOT_THERE:
            return state
    return state


def _folded(text: str) -> str:
    return " ".join(text.split())


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"
