"""16. A graph of your own, from an empty file: a support ticket is classified, answered, checked, escalated."""

from dataclasses import dataclass
from enum import StrEnum

from graph_agent import Context, FakeLLM, Graph, GraphState, Node, Pause, Question, Request, Route, appended, run_graph

WORDS = {
    "legal": ("lawyer", "court", "delete"),
    "billing": ("invoice", "discount", "refund"),
    "account": ("password", "login"),
}
PROMISES = ("promise", "guarantee")
LONGEST = 300


class Stage(StrEnum):
    CLASSIFY = "classify"
    ANSWER = "answer"
    CHECK = "check"
    PERSON = "person"
    SENT = "sent"
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class Ticket(GraphState):
    stage: Stage = Stage.CLASSIFY
    text: str
    kind: str = ""
    drafts: tuple[str, ...] = appended()
    complaint: str = ""
    max_drafts: int = 3
    reply: str = ""
    close: bool = False


def classify(state, ctx):
    text = state.text.casefold()
    return {"kind": next((kind for kind, words in WORDS.items() if any(word in text for word in words)), "other")}


def answer(state, ctx):
    context = {"ticket": state.text, "kind": state.kind, "complaint": state.complaint}
    reply = ctx.llm.complete(Request(instructions="Answer the customer in a few sentences.", context=context))
    return {"drafts": (reply.text,)}


def check_draft(state, ctx):
    draft = state.drafts[-1]
    if not draft.strip():
        return {"complaint": "it is empty"}
    if len(draft) > LONGEST:
        return {"complaint": f"it has {len(draft)} characters, {LONGEST} are allowed"}
    promised = [word for word in PROMISES if word in draft.casefold()]
    return {"complaint": f"it says {promised[0]!r}" if promised else ""}


def route_after_classify(state) -> Route:
    if state.kind == "legal":
        return Route(Stage.PERSON, "a legal matter is for a person")
    return Route(Stage.ANSWER, f"it is about: {state.kind}")


def route_after_check(state) -> Route:
    if not state.complaint:
        return Route(Stage.SENT, f"draft {len(state.drafts)} fits")
    if len(state.drafts) >= state.max_drafts:
        return Route(Stage.PERSON, f"{len(state.drafts)} of {state.max_drafts} drafts are spent: {state.complaint}")
    return Route(Stage.ANSWER, f"draft {len(state.drafts)} does not fit: {state.complaint}")


def route_after_person(state) -> Route:
    if state.close:
        return Route(Stage.CLOSED, "a person closes it")
    if state.reply:
        return Route(Stage.SENT, "a person answers")
    return Route(Stage.ANSWER, "a person allows more drafts")


def decided(state) -> str | None:
    if state.close or state.reply or (state.kind != "legal" and state.max_drafts > len(state.drafts)):
        return None
    return "reply, close, or allow more drafts than there are (a legal matter is never drafted)"


GRAPH = Graph(
    state=Ticket,
    nodes={
        Stage.CLASSIFY: Node(
            classify, reads={"text"}, owns={"kind"}, to=route_after_classify, exits={Stage.ANSWER, Stage.PERSON}
        ),
        Stage.ANSWER: Node(answer, reads={"text", "kind", "complaint"}, owns={"drafts"}, to=Stage.CHECK, model=True),
        Stage.CHECK: Node(
            check_draft,
            reads={"drafts"},
            owns={"complaint"},
            to=route_after_check,
            exits={Stage.SENT, Stage.ANSWER, Stage.PERSON},
        ),
        Stage.PERSON: Pause(
            owns={"max_drafts", "max_turns", "reply", "close"},
            to=route_after_person,
            exits={Stage.CLOSED, Stage.SENT, Stage.ANSWER},
            ask=lambda state: Question(f"{state.route_reason}. What now?", shown=(state.text, *state.drafts)),
            check=decided,
        ),
    },
    ends={Stage.SENT, Stage.CLOSED},
    on_limit=Stage.PERSON,
    on_error=Stage.PERSON,
)


if __name__ == "__main__":
    model = FakeLLM(["We guarantee a refund.", "Your discount was not taken off; we have corrected the invoice."])
    ticket = Ticket(task_id="t1", text="My invoice lacks the discount.")
    final = run_graph(GRAPH, ticket, Context(llm=model))
    print(f"{final.stage}: {final.route_reason}\n{final.drafts[-1]}")
