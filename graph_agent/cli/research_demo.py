"""A simulated research: three documents in memory, and what its model answers, in the order in which it is asked."""

from __future__ import annotations

from graph_agent.llm.fake import FakeLLM
from graph_agent.llm.moves import Argument, Call, Delivery, Move
from graph_agent.protocols import Context, ToolError
from graph_agent.tools.sourced import Sourced
from graph_agent.tools.toolbox import Toolbox
from graph_agent.verify.judge import JudgedCriterion, Judgement
from graph_agent.workflows.research.policy import ResearchPolicy, cards_of
from graph_agent.workflows.research.state import Kind, Plan, ResearchState, Step

DOCUMENTS = {
    "backups.md": "Backups are made every night.\nA backup is kept for 35 days and then deleted.",
    "backups-2019.md": "Status: superseded by backups.md\nA backup is kept for 90 days.",
    "rights.md": "Only the two people on duty may restore a backup.\nA restore is written down in the duty book.",
}
QUESTION = "How long are backups kept, and who may restore one?"


def simulated_research() -> tuple[ResearchState, Context]:
    tools = Toolbox([list_documents, search_documents, read_document])
    policy = ResearchPolicy(tools=cards_of(tools.specs()), workers=1)  # one after another: the script has an order
    state = ResearchState(task_id="demo", goal=QUESTION, max_turns=60)
    return state, Context(llm=FakeLLM(SCRIPT), tools=tools, policy=policy)


def list_documents() -> str:
    """List the documents."""
    return "\n".join(DOCUMENTS)


def search_documents(query: str, limit: int = 4) -> Sourced:
    """Find the documents that have a word of the query."""
    words = set(query.casefold().split())
    found = [name for name, text in DOCUMENTS.items() if words & set(text.casefold().replace(".", " ").split())]
    return Sourced(text="\n".join(found[:limit]), summary=f"{len(found)} documents")


def read_document(path: str, start: int, end: int) -> Sourced:
    """Read some lines of a document."""
    if path not in DOCUMENTS:
        raise ToolError("not_found", f"There is no document {path!r}.", hint=f"There are {', '.join(DOCUMENTS)}.")
    lines = DOCUMENTS[path].split("\n")[start - 1 : end]
    old = "superseded by backups.md" if "superseded" in DOCUMENTS[path] else ""
    return Sourced(text="\n".join(lines), source=path, span=f"{start}-{start + len(lines) - 1}", caveat=old)


def _read(path: str) -> Move:
    args = (Argument(name="path", value=path), Argument(name="start", value=1), Argument(name="end", value=2))
    return Move(call=Call(tool="read_document", args=args))


def _result(text: str) -> Move:
    return Move(result=Delivery(text=text, claim="it says what was asked for"))


def _judged(*statuses: str, why: str) -> Judgement:
    items = tuple(JudgedCriterion(number=at, status=status, why=why) for at, status in enumerate(statuses, 1))
    return Judgement(concerns="there is none", items=items)


def _step(name: str, kind: Kind, goal: str, *done_when: str, query: str = "", needs: tuple[str, ...] = ()) -> Step:
    args = (Argument(name="query", value=query),) if query else ()
    tool = "search_documents" if query else ""
    return Step(id=name, kind=kind, goal=goal, done_when=done_when, tool=tool, args=args, depends_on=needs)


KEPT, RESTORES = "it gives the number of days", "it says who may restore a backup"
TOO_COARSE = Plan(
    rationale="all is in the document on backups",
    steps=(
        _step("s1", "work", "How backups are kept and restored", KEPT, RESTORES, query="backups kept"),
        _step("s2", "close", "Answer both questions", KEPT, RESTORES, needs=("s1",)),
    ),
)
TWO_QUESTIONS = Plan(
    rationale="one step for each question",
    steps=(
        _step("days", "work", "How many days a backup is kept", KEPT, query="kept"),
        _step("people", "work", "Who may restore a backup", RESTORES, query="restore"),
        _step("both", "close", "Answer both questions", KEPT, RESTORES, needs=("days", "people")),
    ),
)
SCRIPT = (
    TOO_COARSE,
    _read("backups-2019.md"),
    _result("A backup is kept for 90 days, and anybody may restore it."),  # no citation: the structure fails
    _read("backups-2019.md"),
    _result("A backup is kept for 90 days [E7]."),
    _judged("violated", "violated", why="the source was superseded, and nothing is said of who restores"),
    TWO_QUESTIONS,  # both criteria violated: the plan has failed
    _read("backups.md"),
    _result('The rule is "A backup is kept for 35 days and then deleted." [E12]'),
    _read("rights.md"),
    _result('"Only the two people on duty may restore a backup." [E17]'),
    _judged("satisfied", why="35 days, quoted"),
    _judged("satisfied", why="the people on duty, quoted"),
    _result("Backups are kept for 35 days [E12]. The two people on duty may restore one [E17]."),
    _judged("satisfied", "satisfied", why="both are said and cited"),
)
