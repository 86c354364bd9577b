"""What exercise 16 asks: tickets played against the learner's graph, its permissions, and every run of it."""

from enum import Enum
from types import ModuleType

from exercises.course import NotYet
from graph_agent import (
    AnswerError,
    Context,
    FakeLLM,
    Graph,
    GraphAgentError,
    GraphState,
    LLMError,
    Node,
    Pause,
    RunError,
    answer,
    question,
    run_graph,
)
from graph_agent.testing import (
    Fails,
    Took,
    budget_holds,
    every_stage_reached,
    explore,
    never,
    pauses_are_left,
    terminates,
)

BUILDS_ON = ("03_state_first", "04_route_after_verify", "06_rule_at_the_door")

STAGES = ("CLASSIFY", "ANSWER", "CHECK", "PERSON", "SENT", "CLOSED")
FIELDS = ("text", "kind", "drafts", "complaint", "max_drafts", "reply", "close")
GOOD = "Your discount was not taken off; the invoice is corrected now."
BAD = "We GUARANTEE that this never happens again."


def check(learner: ModuleType) -> None:
    _names(learner)
    _kinds(learner)
    _drafts(learner)
    _lengths(learner)
    _person(learner)
    _breakdowns(learner)
    _permissions(learner)
    _every_run(learner)


def _names(learner: ModuleType) -> None:
    for name, what in (("Stage", "an enum of the six stages"), ("Ticket", "the state"), ("GRAPH", "the table")):
        if not hasattr(learner, name):
            raise NotYet(f"there is no {name} yet: {what}. exercise.py says what is called how; on paper first.")
    lost = [name for name in STAGES if name not in getattr(learner.Stage, "__members__", {})]
    if lost:
        raise NotYet(f"Stage has no {', '.join(lost)}")
    if not (isinstance(learner.Ticket, type) and issubclass(learner.Ticket, GraphState)):
        raise NotYet("Ticket is no GraphState: class Ticket(GraphState), a frozen dataclass with kw_only=True")
    lost = [name for name in FIELDS if name not in learner.Ticket.__dataclass_fields__]
    if lost:
        raise NotYet(f"Ticket has no field {', '.join(lost)}")
    if not isinstance(learner.GRAPH, Graph):
        raise NotYet(f"GRAPH is {type(learner.GRAPH).__name__} and no Graph")
    if learner.GRAPH.start is not learner.Stage.CLASSIFY:
        raise NotYet(f"a ticket begins at {learner.GRAPH.start}: give Ticket's `stage` the default Stage.CLASSIFY")


def _play(learner: ModuleType, text: str, script, **facts):
    """A ticket run to where it stops, and the model that was asked."""
    llm = FakeLLM(script)
    ticket = learner.Ticket(task_id="check", text=text, **facts)
    try:
        return run_graph(learner.GRAPH, ticket, Context(llm=llm), max_steps=60), llm
    except RunError as error:
        raise NotYet(f"the ticket {text!r}, with {facts or 'no limits'}: the run broke off. {error}") from error


def _stands(state, wanted: Enum, told: str) -> None:
    if state.stage is not wanted:
        raise NotYet(f"{told}: it should stand at {wanted}, and stands at {state.stage} ({state.route_reason})")
    if not state.route_reason.strip():
        raise NotYet(f"{told}: it came to {state.stage} without a reason; a Route says why")


def _kinds(learner: ModuleType) -> None:
    for text, kind in (
        ("My INVOICE lacks something.", "billing"),
        ("Where is my Discount?", "billing"),
        ("I forgot my password", "account"),
        ("no login, and a refund please", "billing"),
        ("Do you sell tea?", "other"),
        ("My Lawyer wants the invoice.", "legal"),
        ("See you in court", "legal"),
        ("Delete all you know about me.", "legal"),
    ):
        final, llm = _play(learner, text, lambda _: GOOD)
        if final.kind != kind:
            raise NotYet(f"the ticket {text!r} was classified as {final.kind!r}, expected {kind!r}")
        if kind == "legal":
            _stands(final, learner.Stage.PERSON, f"the ticket {text!r} is a legal matter")
        if kind == "legal" and llm.requests:
            raise NotYet(f"the ticket {text!r} is a legal matter, and a model was asked: the rule comes first")


def _drafts(learner: ModuleType) -> None:
    stage, text = learner.Stage, "My invoice lacks the discount."
    final, llm = _play(learner, text, [GOOD])
    _stands(final, stage.SENT, "the first draft fits")
    if text not in str(llm.requests[0].context) or "billing" not in str(llm.requests[0].context):
        raise NotYet(f"the model has to see the ticket and its kind in the context; it saw {llm.requests[0].context}")
    if final.drafts != (GOOD,):
        raise NotYet(f"the draft was {GOOD!r}, and drafts is {final.drafts!r}")
    final, llm = _play(learner, text, [BAD, "  \n ", GOOD])
    _stands(final, stage.SENT, "the first draft makes a promise, the second is empty, the third and last fits")
    if len(llm.requests) == 1:
        raise NotYet(f"the draft {BAD!r} makes a promise, in capitals, and was sent")
    if len(llm.requests) == 2:
        raise NotYet("a draft of nothing but white space was sent")
    if final.drafts != (BAD, "  \n ", GOOD):
        raise NotYet(f"three drafts were made, and drafts is {final.drafts!r}: declare it with appended()")
    if llm.requests[1].context == llm.requests[0].context:
        raise NotYet("after a draft that doesn't fit, the model was asked the same again: tell it the complaint")
    final, llm = _play(learner, text, [BAD, BAD, BAD, GOOD])
    _stands(final, stage.PERSON, "three drafts that don't fit, three allowed")
    if len(llm.requests) != 3:
        raise NotYet(f"three drafts are allowed, and the model was asked {len(llm.requests)} times")
    if not final.complaint:
        raise NotYet("the last draft doesn't fit, and the state does not say why: CHECK writes `complaint`")


def _lengths(learner: ModuleType) -> None:
    for length, fits in ((300, True), (301, False)):
        final, _ = _play(learner, "Do you sell tea?", ["x" * length], max_drafts=1)
        wanted = learner.Stage.SENT if fits else learner.Stage.PERSON
        _stands(final, wanted, f"a draft of {length} characters, where 300 are allowed, and one draft")


def _person(learner: ModuleType) -> None:
    stage, graph = learner.Stage, learner.GRAPH
    stuck, _ = _play(learner, "My invoice?", [BAD, BAD, BAD])
    legal, _ = _play(learner, "my lawyer", [])
    for state, patch, wanted in (
        (stuck, {"close": True}, stage.CLOSED),
        (stuck, {"reply": "We are sorry."}, stage.SENT),
        (stuck, {"max_drafts": 4}, stage.ANSWER),
        (legal, {"close": True}, stage.CLOSED),
        (legal, {"reply": "Our lawyer writes to you."}, stage.SENT),
        (stuck, {}, None),
        (stuck, {"max_drafts": 3}, None),
        (legal, {"max_drafts": 9}, None),
        (legal, {}, None),
    ):
        about = f"a ticket at PERSON ({state.kind}, {len(state.drafts)} drafts), answered with {patch}"
        try:
            after = answer(graph, state, patch)
        except AnswerError as error:
            if wanted is not None:
                raise NotYet(f"{about}: it should go on to {wanted}, and was refused: {error}") from error
        except GraphAgentError as error:
            raise NotYet(f"{about}: {error}") from error
        else:
            if wanted is None:
                raise NotYet(f"{about}: it leads nowhere, and was accepted. Refuse it in the pause's check.")
            _stands(after, wanted, about)
    if not question(graph, stuck).text.strip():
        raise NotYet("PERSON asks nothing: give the pause ask=lambda state: Question(...)")
    final = run_graph(graph, answer(graph, stuck, {"max_drafts": 4}), Context(llm=FakeLLM([GOOD])))
    _stands(final, stage.SENT, "a person allowed a fourth draft, and it fits")


def _breakdowns(learner: ModuleType) -> None:
    stage = learner.Stage
    final, _ = _play(learner, "My invoice?", [LLMError("no connection")] * 5)
    _stands(final, stage.PERSON, "the model can't be reached (on_error)")
    final, _ = _play(learner, "My invoice?", [BAD, GOOD], max_turns=1)
    _stands(final, stage.PERSON, "one turn is allowed, and the first draft doesn't fit (on_limit)")
    try:
        more = answer(learner.GRAPH, final, {"max_turns": 2})
    except GraphAgentError as error:
        raise NotYet(f"the turns are spent, and a person can't allow more: {error}. PERSON owns max_turns.") from error
    _stands(run_graph(learner.GRAPH, more, Context(llm=FakeLLM([GOOD]))), stage.SENT, "a person allowed a second turn")


def _permissions(learner: ModuleType) -> None:
    stage, nodes = learner.Stage, learner.GRAPH.nodes
    for name, owned in (("CLASSIFY", "kind"), ("ANSWER", "drafts"), ("CHECK", "complaint")):
        entry = nodes[stage[name]]
        if not isinstance(entry, Node):
            raise NotYet(f"{name} is {type(entry).__name__} and no Node")
        if set(entry.owns) != {owned}:
            raise NotYet(f"{name} owns {sorted(entry.owns)}, and {owned} alone is its own")
        if entry.model != (name == "ANSWER"):
            raise NotYet(f"{name} has model={entry.model}: only ANSWER may ask a model")
    if not isinstance(nodes[stage.PERSON], Pause):
        raise NotYet("PERSON is no Pause: a run has to wait there")
    if learner.GRAPH.shared:
        raise NotYet(f"{sorted(learner.GRAPH.shared)} have several owners, where each field can have one")


def _every_run(learner: ModuleType) -> None:
    stage = learner.Stage
    outcomes = {
        stage.CLASSIFY: [{"kind": kind} for kind in ("billing", "account", "other", "legal")],
        stage.ANSWER: [Took({"drafts": ("a draft",)}, turns=1), Fails("no connection", turns=1)],
        stage.CHECK: [{"complaint": ""}, {"complaint": "it is empty"}],
        stage.PERSON: [{"close": True}, {"reply": "We are sorry."}, {"max_drafts": 3}, {"max_turns": 4}],
    }
    laws = [
        terminates(),
        every_stage_reached(),
        pauses_are_left(),
        budget_holds(),
        never(stage.ANSWER, when=_legal),
        never(stage.SENT, when=_unfit),
    ]
    start = learner.Ticket(task_id="all", text="...", max_drafts=2, max_turns=3)
    report = explore(learner.GRAPH, start, outcomes, laws=laws, max_states=10_000)
    if not report.ok:
        story = report.violations[0].story() if report.violations else str(report)
        raise NotYet(f"of all runs there are, this one is not right:\n{story}")


def _legal(state) -> bool:
    return state.kind == "legal"


def _unfit(state) -> bool:
    return not state.reply and (not state.drafts or bool(state.complaint))
