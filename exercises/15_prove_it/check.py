"""What exercise 15 asks: outcomes that leave nothing out, laws that see a broken rule, and a route that keeps them."""

from types import ModuleType

from exercises.course import NotYet
from graph_agent import Route
from graph_agent.testing import Fails, Report, every_exit_taken, explore, terminates

BUILDS_ON = ("04_route_after_verify",)
MOST = 2000


def check(learner: ModuleType) -> None:
    _outcomes(learner)
    _route(learner)
    _laws(learner)
    _proof(learner)


def _explored(learner: ModuleType, route, outcomes, laws) -> Report:
    return explore(learner.graph_with(route), learner.START, outcomes, laws=laws, max_states=MOST)


def _outcomes(learner: ModuleType) -> None:
    """Under a rule that has every verdict go where it should, the learner's outcomes have to walk the whole table."""
    stage, seen = learner.Stage, set()

    def noting(state) -> Route:
        if state.verdict:
            seen.add(state.verdict)
        return Route(stage.DONE if state.verdict == "green" else stage.PERSON, "looked at")

    report = _explored(learner, noting, learner.OUTCOMES, [])
    if "unknown" not in seen:
        raise NotYet(
            "no outcome says that the tests could not be run, so nothing was proved about that. Read run_tests: "
            f'what can it return? Your OUTCOMES of TEST led to {sorted(seen)} (README, "The task", 1).'
        )
    if missing := {"green", "red", "unknown"} - seen:
        raise NotYet(f"your OUTCOMES of TEST never come to {', '.join(sorted(missing))}: none may be left out")
    failing = {edge[0] for edge in report.edges_taken if edge[2] == "error"}
    for node in (stage.EDIT, stage.TEST):
        if node not in failing:
            raise NotYet(f'a tool can always raise, and your OUTCOMES of {node} have no Fails("why"): add one')
    if stage.GIVEN_UP not in report.stages_reached:
        raise NotYet('nobody gives up: OUTCOMES of PERSON are the answers a person may give, such as {"give_up": True}')
    after_person = {edge[1] for edge in report.edges_taken if edge[0] is stage.PERSON}
    if stage.EDIT not in after_person:
        raise NotYet('no person ever allows more: OUTCOMES of PERSON need an answer such as {"max_tries": 3} too')
    if not report.complete:
        raise NotYet(
            f"your outcomes lead to more than {MOST} states, so not all was explored. Keep numbers small: a person who "
            "allows more each time makes a run without end; allow 3 tries, once."
        )


def _route(learner: ModuleType) -> None:
    report = _explored(learner, learner.route_after_test, _all(learner), [terminates()])
    if report.violations:
        raise NotYet(
            "there is a run that never ends. Run the exercise and read the same story there:\n"
            f"{report.violations[0].story()}\n"
            'Nothing in that round counts, so nothing can stop it: mend the route (README, "The task", 2).'
        )
    stage, state = learner.Stage, learner.START
    for facts, wanted in (
        ({"verdict": "green", "tries": 1}, stage.DONE),
        ({"verdict": "green", "tries": 2}, stage.DONE),
        ({"verdict": "red", "tries": 1}, stage.EDIT),
        ({"verdict": "red", "tries": 2}, stage.PERSON),
        ({"verdict": "red", "tries": 3}, stage.PERSON),
        ({"verdict": "unknown", "tries": 1}, stage.PERSON),
        ({"verdict": "unknown", "tries": 2}, stage.PERSON),
    ):
        went = learner.route_after_test(type(state)(task_id="t", **facts))
        if went.stage is not wanted:
            raise NotYet(f"with {facts} of 2 tries, route_after_test goes to {went.stage}; expected {wanted}")


def _laws(learner: ModuleType) -> None:
    """A law is worth something when a broken rule breaks it."""
    stage, mended = learner.Stage, learner.route_after_test

    def unknown_passes(state) -> Route:
        return Route(stage.DONE, "nothing speaks against it") if state.verdict == "unknown" else mended(state)

    def for_ever(state) -> Route:
        return Route(stage.EDIT, "hope") if state.verdict == "unknown" else mended(state)

    def nobody_asked(state) -> Route:
        return Route(stage.DONE, "good enough") if mended(state).stage is stage.PERSON else mended(state)

    def without_a_word(state) -> Route:
        return Route(mended(state).stage, "")

    outcomes = {**_all(learner), stage.EDIT: lambda state: [{"tries": min(state.tries + 1, 3)}]}
    for what, route, way in (
        ("takes 'unknown' for a pass", unknown_passes, "write a law of your own that looks at `after` at DONE"),
        (
            "ends red runs as done when the tries are spent",
            nobody_asked,
            "your law has to see any DONE that isn't green",
        ),
        ("gives no reasons", without_a_word, "keep reason_given()"),
        ("goes on for ever", for_ever, "keep terminates()"),
    ):
        if not _explored(learner, route, outcomes, learner.LAWS).violations:
            raise NotYet(
                f"the check put a rule in the place of yours that {what}, and your LAWS noticed nothing: {way} "
                '(README, "The task", 3).'
            )
    never_edited = {**_all(learner), stage.PERSON: [{"max_tries": 3}]}
    if not _explored(learner, mended, never_edited, learner.LAWS).violations:
        raise NotYet("GIVEN_UP was never entered, and your LAWS noticed nothing: add every_stage_reached()")


def _proof(learner: ModuleType) -> None:
    report = explore(learner.GRAPH, learner.START, learner.OUTCOMES, laws=learner.LAWS, max_states=MOST)
    if not report.ok:
        raise NotYet(f"your own proof of GRAPH does not hold:\n{report}")
    report = explore(learner.GRAPH, learner.START, _all(learner), laws=[every_exit_taken()], max_states=MOST)
    if report.violations:
        raise NotYet(
            f"the table promises more than the rules do: {report.violations[0].text}. Take out of "
            "EXITS_OF_TEST what no run takes: the table is what people read."
        )


def _all(learner: ModuleType):
    stage = learner.Stage
    return {
        stage.EDIT: lambda state: [{"tries": state.tries + 1}, Fails("the file is gone")],
        stage.TEST: [{"verdict": "green"}, {"verdict": "red"}, {"verdict": "unknown"}, Fails("the disk is full")],
        stage.PERSON: [{"give_up": True}, {"max_tries": 3}],
    }
