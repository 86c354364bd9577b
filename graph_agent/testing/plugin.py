"""The plugin of pytest: `--graph-coverage` says which stages and edges a test run took, and which it never did.

Off, as it is unless asked for, it adds three options and imports nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_agent.testing.coverage import GraphCoverage

_ON = "graph_agent_coverage"


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("graph_agent")
    add = group.addoption
    add("--graph-coverage", action="store_true", help="print which edges of which graphs were never taken")
    add("--graph-coverage-file", metavar="FILE", help="draw the graphs with their counts, as Mermaid in Markdown")
    add("--graph-coverage-fail-under", type=float, metavar="PERCENT", help="fail when a graph has fewer edges taken")


def pytest_configure(config: Any) -> None:
    if not _wanted(config):
        return
    from graph_agent.testing.coverage import GraphCoverage

    setattr(config, _ON, GraphCoverage().__enter__())


def pytest_unconfigure(config: Any) -> None:
    seen: GraphCoverage | None = getattr(config, _ON, None)
    if seen is not None:
        seen.__exit__(None, None, None)


def pytest_sessionfinish(session: Any) -> None:
    """Too little is a failure of the run, unless it has failed for another reason."""
    seen: GraphCoverage | None = getattr(session.config, _ON, None)
    if seen is None:
        return
    target = session.config.getoption("--graph-coverage-file")
    if target:
        text = "".join(f"## {one.name}\n\n```mermaid\n{one.drawing()}```\n\n" for one in seen)
        Path(target).write_text(text, encoding="utf-8")
    if _short(session.config, seen) and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    seen: GraphCoverage | None = getattr(config, _ON, None)
    if seen is None:
        return
    terminalreporter.section("graph coverage")
    terminalreporter.write_line(str(seen))
    for name, percent in _short(config, seen):
        least = config.getoption("--graph-coverage-fail-under")
        terminalreporter.write_line(f"FAIL {name}: {percent:.1f} % of the edges, less than {least:g} %", red=True)


def _wanted(config: Any) -> bool:
    names = ("--graph-coverage", "--graph-coverage-file", "--graph-coverage-fail-under")
    return any(config.getoption(name) not in (None, False) for name in names)


def _short(config: Any, seen: GraphCoverage) -> list[tuple[str, float]]:
    least = config.getoption("--graph-coverage-fail-under")
    return [] if least is None else [(one.name, one.percent) for one in seen if one.percent < least]
