"""For your own test suite: every run of a graph explored, laws of routers, mutants, edges covered, contracts, crashes.

`explore` is where to begin. It works with pytest and without; hypothesis is used where it is installed. The names below
are looked up when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # ruff: isort: off
    from graph_agent.testing.contracts import (
        ContractBroken as ContractBroken,
        check_codec as check_codec,
        check_llm as check_llm,
        check_node as check_node,
        check_tool as check_tool,
        check_toolbox as check_toolbox,
    )
    from graph_agent.testing.coverage import Covered as Covered, GraphCoverage as GraphCoverage
    from graph_agent.testing.crash import (
        Crash as Crash,
        CrashedDifferently as CrashedDifferently,
        check_every_crash as check_every_crash,
        crash_at as crash_at,
        run_to_end as run_to_end,
    )
    from graph_agent.testing.exploring import explore as explore, follow as follow
    from graph_agent.testing.grading import (
        Grade as Grade,
        Graded as Graded,
        GradeError as GradeError,
        Survived as Survived,
        grade as grade,
    )
    from graph_agent.testing.laws import (
        Law as Law,
        always_before as always_before,
        budget_holds as budget_holds,
        can_reach as can_reach,
        every_exit_taken as every_exit_taken,
        every_stage_reached as every_stage_reached,
        monotone as monotone,
        never as never,
        pauses_are_left as pauses_are_left,
        reason_given as reason_given,
        terminates as terminates,
    )
    from graph_agent.testing.machine import graph_machine as graph_machine
    from graph_agent.testing.mutants import (
        RanAway as RanAway,
        RouterMutant as RouterMutant,
        mutate_router as mutate_router,
    )
    from graph_agent.testing.outcomes import (
        ExplorationError as ExplorationError,
        Fails as Fails,
        HitsLimit as HitsLimit,
        Took as Took,
    )
    from graph_agent.testing.report import LawBroken as LawBroken, Report as Report, Violation as Violation
    from graph_agent.testing.routers import (
        RouterBroken as RouterBroken,
        check_reads as check_reads,
        check_router as check_router,
    )
    from graph_agent.testing.space import Taken as Taken
    from graph_agent.testing.states import states_of as states_of
    from graph_agent.testing.tracing import reads as reads

_MODULES = {
    "contracts": "ContractBroken check_codec check_llm check_node check_tool check_toolbox",
    "coverage": "Covered GraphCoverage",
    "crash": "Crash CrashedDifferently check_every_crash crash_at run_to_end",
    "exploring": "explore follow",
    "grading": "Grade GradeError Graded Survived grade",
    "laws": "Law always_before budget_holds can_reach every_exit_taken every_stage_reached monotone never "
    "pauses_are_left reason_given terminates",
    "machine": "graph_machine",
    "mutants": "RanAway RouterMutant mutate_router",
    "outcomes": "ExplorationError Fails HitsLimit Took",
    "report": "LawBroken Report Violation",
    "routers": "RouterBroken check_reads check_router",
    "space": "Taken",
    "states": "states_of",
    "tracing": "reads",
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
