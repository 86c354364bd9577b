"""8. In parallel, in order: five reads at once, of which one fails and one never ends."""

import time
from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Context, Graph, GraphState, Node, Route, Toolbox, ToolError, run_graph

WORKERS = 8  # reads at the same time, at most
PATIENCE = 0.5  # seconds that one read may take


class Stage(StrEnum):
    LOOK = "look"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Observation:
    path: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Job(GraphState):
    stage: Stage = Stage.LOOK
    wanted: tuple[str, ...]
    observations: tuple[Observation, ...] = ()


def read(ctx, path: str) -> str:
    """The text of one file; raises the tool's error."""
    result = ctx.tools.call("read_file", path=path)
    if result.error:
        raise result.error
    return result.value


def look(state, ctx):
    # your turn: all reads at once with fan_out, WORKERS at a time, PATIENCE seconds for each; still one observation
    # for each path, in the order of state.wanted: its text, or its problem
    found = []
    for path in state.wanted:
        try:
            found.append(Observation(path, text=read(ctx, path)))
        except ToolError as error:
            found.append(Observation(path, problem=str(error)))
    return {"observations": tuple(found)}


def route_after_look(state) -> Route:
    missing = [one.path for one in state.observations if one.problem]
    if len(missing) == len(state.wanted):
        return Route(Stage.FAILED, "nothing could be read")
    return Route(Stage.DONE, f"read, but for {', '.join(missing)}" if missing else "all was read")


GRAPH = Graph(
    state=Job,
    nodes={
        Stage.LOOK: Node(
            look,
            reads={"wanted"},
            owns={"observations"},
            tools=("read_file",),
            to=route_after_look,
            exits={Stage.DONE, Stage.FAILED},
        ),
    },
    ends={Stage.DONE, Stage.FAILED},
)

SECONDS = {"prices.txt": 0.3, "orders.txt": 0.2, "stock.txt": 0.1, "cellar.txt": 3.0}


def read_file(path: str) -> str:
    """Read a file of the shop, which lies on a slow disk. (The cellar is said to have no disk at all.)"""
    if path not in SECONDS:
        raise ToolError("not_found", f"There is no file {path!r}.")
    time.sleep(SECONDS[path])
    return f"what stands in {path}"


if __name__ == "__main__":
    begun = time.monotonic()
    job = Job(task_id="t8", wanted=("prices.txt", "orders.txt", "cellar.txt", "attic.txt", "stock.txt"))
    final = run_graph(GRAPH, job, Context(tools=Toolbox([read_file])))
    print(f"{final.stage} after {time.monotonic() - begun:.1f} seconds: {final.route_reason}")
    for one in final.observations:
        print(f"  {one.path:10}  {one.problem or one.text}")
