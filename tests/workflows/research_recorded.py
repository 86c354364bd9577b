"""The model behind `fixtures/replies/research.jsonl`: a whole run with a local retry, a replan and a pass.

`python -m tests.workflows.research_recorded` writes the recording anew, which is needed when a document that it reads,
or what a prompt holds, has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_agent import FakeLLM, RecordingLLM, Request
from graph_agent.cli.research_setup import documents_in, versions_of
from graph_agent.llm.moves import Argument, Call, Delivery, Move
from graph_agent.protocols import Context
from graph_agent.runtime.run import run_graph
from graph_agent.verify.judge import JudgedCriterion, Judgement
from graph_agent.workflows.research.graph import GRAPH
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import Plan, ResearchState, Step

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT / "fixtures" / "documents"
RECORDING = ROOT / "fixtures" / "replies" / "research.jsonl"
QUESTION = "At what wind speed does the goods hoist stop, and how often is the snow stake read?"

WIND, STAKE = "it gives the wind speed at which the hoist stops", "it says how often the snow stake is read"
FIRST = Plan(
    rationale="both at once",
    steps=(
        Step(id="s1", kind="work", goal="Find the wind speed and the readings", done_when=(WIND, STAKE)),
        Step(id="s2", kind="close", goal="Answer both", done_when=(WIND, STAKE), depends_on=("s1",)),
    ),
)
SECOND = Plan(
    rationale="one step for each",
    steps=(
        Step(id="wind", kind="work", goal="Find at what wind speed the goods hoist stops", done_when=(WIND,)),
        Step(id="stake", kind="work", goal="Find how often the snow stake is read", done_when=(STAKE,)),
        Step(id="both", kind="close", goal="Answer both", done_when=(WIND, STAKE), depends_on=("wind", "stake")),
    ),
)
READS = {"wind": ("goods-hoist.md", "shifts-and-safety.md"), "stake": ("snow-record.html",)}


def scripted(request: Request) -> Any:
    """What the model says depends on what it is asked alone."""
    fields, context = (request.schema or {})["properties"], request.context
    if "steps" in fields:
        return SECOND if "dead_ends" in context else FIRST
    if "items" in fields:
        return _judged(context)
    return _moved(context)


def _judged(context: Any) -> Judgement:
    """The first plan's result says nothing of what was asked."""
    bad = context["task"] == FIRST.steps[0].goal
    status, why = ("violated", "it is not said") if bad else ("satisfied", "it is said, with its source")
    items = [JudgedCriterion(number=one["number"], status=status, why=why) for one in context["criteria"]]
    return Judgement(concerns="there is none", items=tuple(items))


def _moved(context: Any) -> Move:
    step, evidence = context["step"]["id"], context["evidence"]
    if step == "s1":
        return _first_plan(context)
    found = {one["source"].partition(":")[0]: one for one in evidence if one["by"] == "read_document"}
    for path in READS.get(step, ()):
        if path not in found:
            place = _place_of(path, evidence)
            return _call("read_document", path=path, start=place[0], end=place[1]) if place else _search(step)
    if step == "wind":
        lines = [f"{_sentence(found[path], 'The goods hoist is stopped')}" for path in READS[step]]
        return _said(
            *lines, f"The two sources contradict each other [{', '.join(found[p]['id'] for p in READS[step])}]."
        )
    if step == "stake":
        return _said(_sentence(found["snow-record.html"], "The snow stake is read every"))
    return _said(*(line for one in context["results"] for line in one["text"].split("\n\n")))


def _first_plan(context: Any) -> Move:
    """Without a citation at first, then with one that is beside the point."""
    if "what_was_wrong_last_time" not in context:
        return _said("The hoist stops when the wind is strong, and the stake is read often.")
    if not context["evidence"]:
        return _call("list_documents")
    return _said(f"There is a document on the goods hoist [{context['evidence'][0]['id']}].")


def _search(step: str) -> Move:
    words = {"wind": "goods hoist stopped mean wind speed", "stake": "snow stake read every hours"}
    return _call("search_documents", query=words[step])


def _place_of(path: str, evidence: Any) -> tuple[int, int] | None:
    """Where a search found the document."""
    for one in evidence:
        for line in one["text"].split("\n"):
            if one["by"] == "search_documents" and line.startswith(f"{path}:"):
                first, _, last = line.removeprefix(f"{path}:").split(" ")[0].partition("-")
                return int(first), int(last)
    return None


def _sentence(evidence: Any, begins: str) -> str:
    folded = " ".join(evidence["text"].split())
    start = folded.index(begins)
    return f"> {folded[start : folded.index('.', start) + 1]} [{evidence['id']}]"


def _call(tool: str, **arguments: Any) -> Move:
    return Move(call=Call(tool=tool, args=tuple(Argument(name=name, value=value) for name, value in arguments.items())))


def _said(*lines: str) -> Move:
    return Move(result=Delivery(text="\n\n".join(lines), claim="it answers the step"))


def record(path: Path) -> ResearchState:
    """Run the graph on the scripted model and the real documents, and record each question and answer."""
    documents = documents_in(DOCUMENTS)
    tools = documents.toolbox()
    policy = ResearchPolicy(tools=cards_of(tools.specs()), sources=versions_of(documents))
    ctx = Context(llm=RecordingLLM(FakeLLM(scripted), path), tools=tools, policy=policy)
    return run_graph(GRAPH, ResearchState(task_id="recorded", goal=QUESTION, max_turns=100), ctx)


if __name__ == "__main__":
    RECORDING.unlink(missing_ok=True)
    print(record(RECORDING).route_reason)
