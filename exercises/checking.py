"""One check, in a process of its own: `python -m exercises.checking FOLDER NAME SAID` (the course starts it).

It loads the learner's file, hands it to the folder's check, and writes what came of it to the file SAID, as JSON. The
one rule: whatever a learner's file raises is told in the learner's terms, with a line of the learner's file.
"""

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from exercises.course import HERE, NotYet, load


def main(folder: Path, name: str, said: Path) -> None:
    check = load(folder, "check").check
    said.write_text(json.dumps(judge(check, folder, name)), encoding="utf-8")


def judge(check: Callable[[ModuleType], None], folder: Path, name: str) -> tuple[bool, str]:
    learner = None
    try:
        learner = load(folder, name)
        check(learner)
    except NotYet as told:
        return False, str(told)
    except BaseException as error:  # noqa: BLE001, a learner's file may raise anything, sys.exit() too
        return False, told_plainly(error, learner)
    return True, ""


def told_plainly(error: BaseException, learner: ModuleType | None) -> str:
    """What was raised, with the line of a learner's file that it came from, and no traceback of ours."""
    if isinstance(error, SyntaxError) and error.filename and _is_learners(error.filename):
        where = " " * (len(error.text or "") - len((error.text or "").lstrip()))
        mark = " " * max((error.offset or 1) - 1 - len(where), 0) + "^"
        text = (error.text or "").strip()
        return f"{_shown(error.filename)}, line {error.lineno}: {_named(error)}\n    {text}\n    {mark}"
    found = None
    for raised in _chain(error):
        frames = [frame for frame in traceback.extract_tb(raised.__traceback__) if _is_learners(frame.filename)]
        if frames:
            found = raised, frames[-1]
    if found:
        raised, frame = found
        said = f"{_shown(frame.filename)}, line {frame.lineno}, in {frame.name}: {_named(raised)}\n    {frame.line}"
        return said if raised is error else f"{said}\nof which came: {_named(error)}"
    if isinstance(error, AttributeError) and learner is not None and error.obj is learner:
        return f"{_shown(str(learner.__file__))} has no `{error.name}` any more, and the check looks for it."
    return f"the check met an error when it used your file: {_named(error)}"


def _chain(error: BaseException | None) -> list[BaseException]:
    """The error, then what it came from, and so on."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain


def _is_learners(filename: str) -> bool:
    path = Path(filename)
    return path.parent.parent == HERE and path.name != "check.py"


def _shown(filename: str) -> str:
    return Path(filename).relative_to(HERE.parent).as_posix()


def _named(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
