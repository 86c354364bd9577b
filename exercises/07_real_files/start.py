"""7. Real files: what the helper knows of the shop is read from a folder, and nothing outside of it is."""

import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from graph_agent import Context, Graph, GraphState, Node, Route, Toolbox, ToolError, run_graph


class Stage(StrEnum):
    LOOK = "look"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Observation:
    """What one look brought: the text of a file, or why there is none."""

    path: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Job(GraphState):
    stage: Stage = Stage.LOOK
    wanted: tuple[str, ...]  # the paths to look at; a model may have written them
    observations: tuple[Observation, ...] = ()


def inside(root: Path, path: str) -> Path:
    """Where `path` really leads. Raises ToolError when that is not below `root`, or no file."""
    # your turn (3): follow all links first, then look where you are, and only then whether there is a file
    real = root / path
    if not real.is_file():
        raise ToolError("not_found", f"There is no file {path!r} in the project.")
    return real


def tools_of(root: Path) -> Toolbox:
    def read_file(path: str) -> str:
        """Read a text file of the project."""
        return inside(root, path).read_text(encoding="utf-8")

    return Toolbox([read_file])


def look(state, ctx):
    # your turn (1): one observation for each of state.wanted, in that order; read with the tool, not with open()
    return {"observations": (Observation("shop.py", "def total(prices, discount):\n    return 180\n"),)}


def route_after_look(state) -> Route:
    read = sum(not one.problem for one in state.observations)
    stage = Stage.DONE if read else Stage.FAILED
    return Route(stage, f"{read} of {len(state.wanted)} files were read")


GRAPH = Graph(
    state=Job,
    nodes={
        # your turn (2): name the tool that this node may call
        Stage.LOOK: Node(
            look,
            reads={"wanted"},
            owns={"observations"},
            to=route_after_look,
            exits={Stage.DONE, Stage.FAILED},
        ),
    },
    ends={Stage.DONE, Stage.FAILED},
)


def main() -> None:
    with tempfile.TemporaryDirectory() as desk:
        shop = Path(desk, "shop")
        shop.mkdir()
        Path(desk, "secret.txt").write_text("the key of the till\n", encoding="utf-8")
        Path(shop, "shop.py").write_text("def total(prices, discount):\n    return sum(prices)\n", encoding="utf-8")
        job = Job(task_id="t7", wanted=("shop.py", "README.md", "../secret.txt"))
        final = run_graph(GRAPH, job, Context(tools=tools_of(shop)))
        print(f"{final.stage}: {final.route_reason}")
        for one in final.observations:
            print(f"  {one.path}: {one.problem or one.text!r}")


if __name__ == "__main__":
    main()
