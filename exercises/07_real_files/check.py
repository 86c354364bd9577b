"""What exercise 7 asks: real files in a real folder, and each of the ways out of it that a path can take."""

import tempfile
from pathlib import Path
from types import ModuleType

from exercises.course import NotYet
from graph_agent import Context, NodeError, ToolDenied, ToolError, run_graph

BUILDS_ON = ("03_state_first",)
SECRET = "the key of the till"


def check(learner: ModuleType) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as desk:
        root = Path(desk, "shop")
        _furnish(Path(desk), root)
        _reads_what_is_there(learner, root)
        _a_missing_file_is_an_observation(learner, root)
        _no_way_out(learner, Path(desk), root)
        _links(learner, Path(desk), root)


def _furnish(desk: Path, root: Path) -> None:
    for path, text in {
        root / "shop.py": "def total(prices, discount):\n    return sum(prices) - discount  # 4711\n",
        root / "tests" / "test_shop.py": "from shop import total  # 4712\n",
        desk / "secret.txt": SECRET,
        desk / "shop-secrets" / "till.txt": SECRET,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _reads_what_is_there(learner: ModuleType, root: Path) -> None:
    found = _look(learner, root, "tests/test_shop.py", "shop.py")
    if not any("4711" in one.text for one in found):
        raise NotYet(
            "shop.py has a line with 4711 in it, and no observation has: what the node says of the shop is not what "
            'stands in the file. Read it with ctx.tools.call("read_file", path=...) (README, "The task", 1).'
        )
    if [one.path for one in found] != ["tests/test_shop.py", "shop.py"] or "4712" not in found[0].text:
        raise NotYet(
            f"wanted were tests/test_shop.py and shop.py, and the observations are of {[one.path for one in found]}: "
            "one for each path, in the order of `wanted`, with the text of that file."
        )


def _a_missing_file_is_an_observation(learner: ModuleType, root: Path) -> None:
    for path in ("README.md", "tests"):
        try:
            found = _look(learner, root, path, "shop.py")
        except NodeError as error:
            raise NotYet(
                f"{path!r} is no file, and that ended the whole run with {type(error.__cause__).__name__}. A tool says "
                "what can go wrong in normal use with a ToolError; a call then ends in a result with .error. Let "
                '`inside` raise one for what is no file (README, "The new idea").'
            ) from error
        if len(found) != 2 or not found[0].problem or "4711" not in found[1].text:
            raise NotYet(
                f"{path!r} is no file and shop.py is one; the observations are {found}. Expected: the first with a "
                "problem, the second with its text. Not to find a file is something that was observed."
            )


def _no_way_out(learner: ModuleType, desk: Path, root: Path) -> None:
    ways = {
        "../secret.txt": "two dots lead up, and out",
        "tests/../../secret.txt": "it begins inside, and two dots more lead out",
        str(desk / "secret.txt"): "in pathlib, root / path is just `path` when that begins at the root of the disk",
        "../shop-secrets/till.txt": "`shop-secrets` begins with the letters of `shop`, and is not in it: compare "
        "the parts of a path, not its letters (is_relative_to does)",
    }
    for path, why in ways.items():
        _refused(learner, root, path, why)
    there, nothing = _kind(learner, root, "../secret.txt"), _kind(learner, root, "../nothing.txt")
    if there != nothing:
        raise NotYet(
            f"'../secret.txt' is refused as {there!r}, '../nothing.txt' as {nothing!r}: whoever asks learns which "
            "files there are outside. Look where a path leads before you look whether there is a file."
        )
    inside = _look(learner, root, "tests/../shop.py")
    if "4711" not in inside[0].text:
        raise NotYet(f"'tests/../shop.py' stays inside and was refused: {inside[0].problem}. Look where it leads.")


def _links(learner: ModuleType, desk: Path, root: Path) -> None:
    try:
        (root / "notes.txt").symlink_to(desk / "secret.txt")
        (root / "more").symlink_to(desk / "shop-secrets", target_is_directory=True)
        (root / "same.py").symlink_to(root / "shop.py")
    except (OSError, NotImplementedError):
        return  # this system makes no links for us
    why = "the name lies inside, what it links to does not: resolve() follows all links, then look where you are"
    for path in ("notes.txt", "more/till.txt"):
        _refused(learner, root, path, why)
    if "4711" not in _look(learner, root, "same.py")[0].text:
        raise NotYet("same.py is a link to shop.py, inside the folder, and was refused: only what leads out is to be.")


def _refused(learner: ModuleType, root: Path, path: str, why: str) -> None:
    shown = "the whole path of a file outside" if Path(path).is_absolute() else repr(path)
    try:
        (one,) = _look(learner, root, path)
    except NodeError as error:
        raise NotYet(
            f"{shown} ended the run with {type(error.__cause__).__name__}: refuse it with a ToolError."
        ) from error
    if one.text:
        raise NotYet(f"{shown} was read, and it stands outside of the folder: {why}. Mend `inside` (The task, 3).")
    if not one.problem:
        raise NotYet(f"{shown} was not read, and the observation doesn't say so: its `problem` is empty.")
    if SECRET in one.problem:
        raise NotYet(f"{shown} was refused, and the refusal holds what stands in the file.")
    if _kind(learner, root, path) is None:
        raise NotYet(f"`inside` let {shown} through: the one who knows the folder has to refuse it, whoever calls.")


def _kind(learner: ModuleType, root: Path, path: str) -> str | None:
    try:
        learner.inside(root, path)
    except ToolError as error:
        return error.kind
    return None


def _look(learner: ModuleType, root: Path, *wanted: str):
    job = learner.Job(task_id="t7", wanted=wanted)
    try:
        return run_graph(learner.GRAPH, job, Context(tools=learner.tools_of(root))).observations
    except NodeError as error:
        if isinstance(error.__cause__, ToolDenied):
            raise NotYet(
                f"look called a tool that its line in the table does not name ({error.__cause__}): "
                'add tools=("read_file",) there. What a node may do is read off the table (The task, 2).'
            ) from error
        raise
