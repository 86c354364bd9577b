"""`python -m tests.benchmarks [--only NAME ...] [--steps N] [--rounds N]`: tables of what things cost, side by side.

Nothing here passes or fails: a clock decides no test.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

from tests.benchmarks.durable import durable, growth
from tests.benchmarks.evals import evals
from tests.benchmarks.kills import kills
from tests.benchmarks.loops import LOOPS
from tests.benchmarks.research import research
from tests.benchmarks.sections import CHOICES, SECTIONS, codec, explored, fan_outs, imports, machine, steps


def main(arguments: list[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m tests.benchmarks", description="What things cost, side by side.")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CHOICES,
        default=list(SECTIONS),
        metavar="NAME",
        help=f"sections or loops: {', '.join(CHOICES)}",
    )
    parser.add_argument("--steps", type=int, default=400, help="visits of a node in one run of a loop")
    parser.add_argument("--rounds", type=int, default=50, help="how often each is run, in turn with the others")
    parser.add_argument("--kills", type=int, default=200, help="how often a repair is killed, with --only kills")
    given = parser.parse_args(arguments)
    if given.steps < 1 or given.rounds < 1:
        parser.error("--steps and --rounds are at least 1")
    print(machine())
    for text in _texts(given.only, given.steps, given.rounds, given.kills):
        print(f"\n{text}", flush=True)


def _texts(only: list[str], visits: int, rounds: int, killed: int) -> Iterator[str]:
    loops = list(LOOPS) if "steps" in only else [name for name in LOOPS if name in only]
    if loops:
        yield steps(loops, visits, rounds)
    if "import" in only:
        yield imports(rounds)
    if "fan_out" in only:
        yield fan_outs(100, rounds)
    if "codec" in only:
        yield codec(100, rounds)
    if "durable" in only:
        yield durable(visits, rounds)
    if "growth" in only:
        yield growth()
    if "explore" in only:
        yield explored(5_000, rounds)
    if "research" in only:
        yield research()
    if "kills" in only:
        yield kills(killed)
    if "evals" in only:
        yield evals()


if __name__ == "__main__":
    main()
