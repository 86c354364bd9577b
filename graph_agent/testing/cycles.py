"""Runs without end, and the longest of those that have one: what the graph of all places says about time.

A person may send a run round as often as they like, so their steps are left out. The rule: what is not on a cycle, and
leads to none, ends.
"""

from __future__ import annotations

from collections import deque

from graph_agent.testing.space import Space, Taken


def by_itself(space: Space, place: int) -> list[tuple[Taken, int]]:
    """The steps from a place that need no person."""
    return [(taken, after) for taken, after in space.steps[place] if after is not None and taken.kind != "answered"]


def cycle(space: Space) -> tuple[int, list[tuple[Taken, int | None]]] | None:
    """The place and the steps of a cycle that no person stands in, the one that is soonest reached; None for none."""
    left = _core(space)
    for place in sorted(left, key=lambda number: space.depths[number]):
        steps = _back_to(space, place, left)
        if steps is not None:
            return place, steps
    return None


def _core(space: Space) -> set[int]:
    """The places from which a run could go on for ever: those left when all that must end is taken away."""
    before: dict[int, list[int]] = {}
    ahead = [0] * len(space.states)
    for place in range(len(space.states)):
        for _, after in by_itself(space, place):
            before.setdefault(after, []).append(place)
            ahead[place] += 1
    waiting = [place for place, count in enumerate(ahead) if not count]
    left = set(range(len(space.states)))
    while waiting:
        gone = waiting.pop()
        left.discard(gone)
        for place in before.get(gone, ()):
            ahead[place] -= 1
            if not ahead[place]:
                waiting.append(place)
    return left


def _back_to(space: Space, goal: int, within: set[int]) -> list[tuple[Taken, int | None]] | None:
    """A shortest way from a place to itself."""
    came: dict[int, tuple[int, Taken]] = {}
    waiting = deque([goal])
    while waiting:
        place = waiting.popleft()
        for taken, after in by_itself(space, place):
            if after not in within or after in came:
                continue
            came[after] = (place, taken)
            if after == goal:
                return _unwound(came, goal)
            waiting.append(after)
    return None


def _unwound(came: dict[int, tuple[int, Taken]], goal: int) -> list[tuple[Taken, int | None]]:
    steps: list[tuple[Taken, int | None]] = []
    at = goal
    while not steps or at != goal:
        before, taken = came[at]
        steps.append((taken, at))
        at = before
    return steps[::-1]


def longest_run(space: Space) -> int | None:
    """The most steps that a run makes between two persons, or None where it is without end."""
    if _core(space):
        return None
    most = [0] * len(space.states)
    for place in _topological(space):
        for _, after in by_itself(space, place):
            most[place] = max(most[place], most[after] + 1)
    return max(most, default=0)


def _topological(space: Space) -> list[int]:
    """Successors first. Steps of nodes have no cycle here."""
    done: set[int] = set()
    order: list[int] = []
    for root in range(len(space.states)):
        stack = [(root, iter(by_itself(space, root)))] if root not in done else []
        done.add(root)
        while stack:
            place, steps = stack[-1]
            after = next((one for _, one in steps if one not in done), None)
            if after is None:
                order.append(place)
                stack.pop()
            else:
                done.add(after)
                stack.append((after, iter(by_itself(space, after))))
    return order
