"""What exercise 8 asks: reads that wait for each other, end in the wrong order, fail, and hang."""

from threading import Barrier, BrokenBarrierError, Event
from types import ModuleType

from exercises.course import NotYet
from graph_agent import Context, FakeTools, ToolError, run_graph

BUILDS_ON = ("07_real_files",)
LONG = 5.0  # seconds: no read of these checks takes as long, but for the one that hangs


def check(learner: ModuleType) -> None:
    _at_once(learner)
    _in_order(learner)
    _one_fails(learner)
    _one_hangs(learner)


def _at_once(learner: ModuleType) -> None:
    """Each of the three reads waits until all three have begun."""
    meeting, alone = Barrier(3), Event()

    def read_file(path: str) -> str:
        try:
            meeting.wait(1.0)
        except BrokenBarrierError:
            alone.set()
        return f"text of {path}"

    found = _look(learner, read_file, ("a", "b", "c"))
    if alone.is_set():
        raise NotYet(
            "three reads, each of which waited for the two others to begin, waited in vain: they are made one after "
            'the other. Hand fan_out one job for each path (README, "The task").'
        )
    _expect(found, ("a", "b", "c"))


def _in_order(learner: ModuleType) -> None:
    """The first read ends last."""
    ended = {path: Event() for path in "abc"}
    after = {"a": "b", "b": "c"}

    def read_file(path: str) -> str:
        if path in after:
            ended[after[path]].wait(1.0)
        ended[path].set()
        return f"text of {path}"

    _expect(_look(learner, read_file, ("a", "b", "c")), ("a", "b", "c"))


def _one_fails(learner: ModuleType) -> None:
    def read_file(path: str) -> str:
        if path == "b":
            raise ToolError("not_found", "There is no file 'b'.")
        return f"text of {path}"

    try:
        found = _look(learner, read_file, ("a", "b", "c"))
    except Exception as error:
        raise NotYet(
            f"the read of 'b' failed, and that ended the run with {type(error).__name__}: {error}. fan_out raises "
            "nothing of a job's own: look at outcome.ok before you use outcome.value."
        ) from error
    _expect(found, ("a", None, "c"))
    if "There is no file" not in found[1].problem:
        raise NotYet(
            f"the read of 'b' failed with \"There is no file 'b'.\", and its observation says {found[1].problem!r}: "
            "put the error's text into `problem`; whoever plans on this wants to know why."
        )


def _one_hangs(learner: ModuleType) -> None:
    let_go, over = Event(), Event()

    def read_file(path: str) -> str:
        if path == "b":
            let_go.wait(3.0)
            over.set()
        return f"text of {path}"

    try:
        found = _look(learner, read_file, ("a", "b", "c", "d"), patience=0.6)
        waited = over.is_set()
    finally:
        let_go.set()
    if waited:
        raise NotYet(
            "the read of 'b' hung, and the node waited for it until it came back by itself; one that never does would "
            "hold the run for ever. Give each job PATIENCE seconds: fan_out(..., job_timeout=PATIENCE)."
        )
    _expect(found, ("a", None, "c", "d"))
    if not over.wait(1.0) or found[1].text:
        raise NotYet("what came late has changed the observation: keep what the fan-out returned, and nothing later")


def _expect(found, texts: tuple[str | None, ...]) -> None:
    wanted = [path or "b" for path in texts]
    paths, read = [one.path for one in found], [one.text for one in found]
    if paths != wanted:
        raise NotYet(
            f"wanted were {wanted} and the observations are of {paths}: one for each path, in the order of `wanted`, "
            "whichever read ended first. Equal runs have to leave equal states."
        )
    if len(wanted) > 1 and len(set(read)) == 1 and read[0]:
        raise NotYet(
            f"the observations of {wanted} all hold {read[0]!r}. A `lambda: read(ctx, path)` made in a loop looks at "
            "`path` when it is called, and by then that is the last one: use functools.partial(read, ctx, path)."
        )
    for one, text in zip(found, texts, strict=True):
        if text is not None and (one.text != f"text of {text}" or one.problem):
            raise NotYet(
                f"nothing was wrong with the read of {text!r}, and its observation is {one}: expected 'text of {text}' "
                "and no problem, whatever became of the others."
            )
        if text is None and (one.text or one.problem in ("", "None")):
            raise NotYet(
                f"the read of 'b' gave nothing, and its observation is {one}: expected no text, and a problem. An "
                "outcome that is not ok has an `error`, or a `status` such as 'timeout' that says it."
            )


def _look(learner: ModuleType, read_file, wanted: tuple[str, ...], *, patience: float = LONG):
    learner.PATIENCE = patience
    job = learner.Job(task_id="t8", wanted=wanted)
    return run_graph(learner.GRAPH, job, Context(tools=FakeTools({"read_file": read_file}))).observations
