"""Steps that depend on each other, in layers: what stands in one layer can be done at once, in any order.

The rule: a table that can't be carried out is refused before anything runs, with every fault in one error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graph_agent.runtime.errors import PlanError, nearest

Needs = Sequence[tuple[str, Sequence[str]]]


def layers(steps: Iterable[tuple[str, Sequence[str]]]) -> list[list[str]]:
    """Topological layers of (id, the ids it depends on), by the first layer in which each can run.

    Within a layer those that others depend on come first, else the order is that of `steps`. Raises `PlanError`.
    """
    needs = list(steps)
    problems = list(step_problems(needs))
    if problems:
        raise PlanError(problems)
    needed = {other for _, others in needs for other in others}
    left, done, found = dict(needs), set[str](), list[list[str]]()
    while left:
        ready = [name for name, others in left.items() if done.issuperset(others)]
        found.append(sorted(ready, key=lambda name: name not in needed))
        done.update(ready)
        left = {name: others for name, others in left.items() if name not in done}
    return found


def step_problems(needs: Needs) -> Iterator[str]:
    """All that keeps steps from being laid out."""
    if not needs:
        yield "the plan is empty: it has no steps"
    names = [name for name, _ in needs]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"duplicate id {name!r}: {names.count(name)} steps have it"
    for name, others in needs:
        for other in dict.fromkeys(others):
            if other == name:
                yield f"step {name!r} depends on itself"
            elif other not in names:
                yield f"step {name!r} depends on {other!r}, which is no step{nearest(other, names)}"
    edges: dict[str, list[str]] = {name: [] for name in names}
    for name, others in needs:
        edges[name] += [other for other in others if other != name]
    if path := _cycle(edges):
        yield f"the steps go round in a cycle: {' -> '.join(path)}"


def _cycle(needs: dict[str, list[str]]) -> list[str]:
    """The first round trip along the dependencies; empty when there is none."""
    done: set[str] = set()
    for start in needs:
        path, left = [start], [iter(needs[start])]
        while path:
            other = next(left[-1], None)
            if other is None:
                done.add(path.pop())
                left.pop()
            elif other in path:
                return [*path[path.index(other) :], other]
            elif other in needs and other not in done:
                path.append(other)
                left.append(iter(needs[other]))
    return []
