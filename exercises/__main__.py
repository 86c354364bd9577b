"""`python3 -m exercises`: where am I, and the commands check, run, hint, watch and reset.

Nothing is stored: what is done is what passes its check now. The one rule: whatever is typed, what comes back is a
sentence and an exit code (0 right, 1 not yet, 2 not understood), never a traceback of the course.
"""

import difflib
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable

from exercises.course import HERE, Exercise, Outcome, exercises, outcome_of, run_file, unheard

PYTHON = "python" if os.name == "nt" else "python3"
USAGE = f"""\
{PYTHON} -m exercises             where am I: what is done, the next task, why its check fails
{PYTHON} -m exercises check 3     the check of one exercise; without a number, of all
{PYTHON} -m exercises run 3       run its exercise.py
{PYTHON} -m exercises hint 3      the first hint; hint 3 2 the second
{PYTHON} -m exercises watch       check again at each save, and go on to the next; watch 3 begins there
{PYTHON} -m exercises reset 3     put its exercise.py back as it was shipped"""


class Usage(Exception):
    """What was not understood, and what would be."""


def main(argv: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console that has no such letter shows "?"
    try:
        name, *rest = argv or ["status"]
        code = _help() if name in ("help", "-h", "--help") else _command(name)(rest)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return unheard()
    except Usage as said:
        print(f"{said}\n\n{USAGE}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped.")
        return 130


def _help() -> int:
    print(USAGE)
    return 0


def status(rest: list[str]) -> int:
    _no_more(rest)
    course = exercises()
    seen: dict[str, Outcome] = {}
    done = [e for e in course if e.touched and outcome_of(e, seen).passed]  # as shipped, none passes
    todo = [e for e in course if e not in done]
    print(f"{len(done)} of {len(course)} exercises done.\n")
    for exercise in course:
        mark = "x" if exercise in done else ">" if exercise is todo[0] else " "
        print(f"  [{mark}] {exercise.number:2}  {exercise.title}")
    if not todo:
        print("\nAll of it. What to read now: graph_agent/runtime, from run.py on.")
        return 0
    here = todo[0]
    print(f"\nNext: {here.number}. {here.title}")
    print(f"  read  {_shown(here)}/README.md\n  edit  {_shown(here)}/exercise.py\n")
    _tell(here, outcome_of(here, seen))
    return 0


def check(rest: list[str]) -> int:
    chosen = [_exercise(rest[0])] if rest else exercises()
    _no_more(rest[1:])
    seen: dict[str, Outcome] = {}
    for exercise in chosen:
        _tell(exercise, outcome_of(exercise, seen))
    passed = sum(outcome_of(exercise, seen).passed for exercise in chosen)
    if not rest:
        print(f"{passed} of {len(chosen)} exercises done.")
    elif passed:
        print(f"\nWhat comes next: {PYTHON} -m exercises")
    return 0 if passed == len(chosen) else 1


def run(rest: list[str]) -> int:
    exercise = _exercise(_one(rest, "run"))
    _no_more(rest[1:])
    if not exercise.file.is_file():
        raise Usage(f"{_shown(exercise)}/exercise.py is not there: reset {exercise.number} puts it back.")
    return min(run_file(exercise.file), 1)


def hint(rest: list[str]) -> int:
    exercise = _exercise(_one(rest, "hint"))
    _no_more(rest[2:])
    hints, which = exercise.hints, rest[1] if len(rest) > 1 else "1"
    if which not in map(str, range(1, len(hints) + 1)):
        raise Usage(f"there is no hint {which!r} for exercise {exercise.number}: it has hints 1 to {len(hints)}.")
    print(f"{exercise.number}. {exercise.title}, hint {which} of {len(hints)}\n\n{hints[int(which) - 1]}")
    if int(which) < len(hints):
        print(f"\nMore: {PYTHON} -m exercises hint {exercise.number} {int(which) + 1}")
    return 0


def watch(rest: list[str]) -> int:
    begin = _exercise(rest[0]).number if rest else 1
    _no_more(rest[1:])
    print("Save the file, and it is checked. Ctrl-C ends it.\n", flush=True)
    try:
        for exercise in exercises():
            if exercise.number >= begin:
                _watch_one(exercise, always_tell=bool(rest) and exercise.number == begin)
    except KeyboardInterrupt:
        print("\nstopped.")
        return 0
    print("All of them pass.")
    return 0


def reset(rest: list[str]) -> int:
    exercise = _exercise(_one(rest, "reset"))
    _no_more(rest[1:])
    if not exercise.touched:
        print(f"{_shown(exercise)}/exercise.py is as it was shipped.")
        return 0
    if exercise.file.is_file():
        shutil.copyfile(exercise.file, exercise.folder / "before_reset.py")
        print(f"What you had is in {_shown(exercise)}/before_reset.py.")
    shutil.copyfile(exercise.start, exercise.file)
    print(f"{_shown(exercise)}/exercise.py is as it was shipped.")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "status": status,
    "check": check,
    "run": run,
    "hint": hint,
    "watch": watch,
    "reset": reset,
}


def _watch_one(exercise: Exercise, *, always_tell: bool) -> None:
    """Until it passes: a check at the beginning, then one at each change of the file."""
    first = True
    while True:
        text = _saved(exercise)
        outcome = outcome_of(exercise)
        if not (first and outcome.passed) or always_tell:
            _tell(exercise, outcome)
        if outcome.passed:
            return
        first = False
        while _saved(exercise) == text:
            time.sleep(0.2)


def _saved(exercise: Exercise) -> bytes | None:
    try:
        return exercise.file.read_bytes()
    except OSError:
        return None  # an editor may take the file away for a moment while it saves


def _tell(exercise: Exercise, outcome: Outcome) -> None:
    name = f"{exercise.number}. {exercise.title}"
    if outcome.passed:
        print(f"PASSED   {name}", flush=True)
        return
    print(f"NOT YET  {name}\n")
    print(_indented(outcome.text))
    if outcome.printed:
        print(f"\n  It printed:\n{_indented(outcome.printed, '  | ')}")
    print(f"\n  {PYTHON} -m exercises hint {exercise.number}\n", flush=True)


def _indented(text: str, by: str = "  ", width: int = 100) -> str:
    """Long lines are folded; a line that begins with a space is shown as it is."""
    lines = [part for line in text.splitlines() for part in _folded(line, width)]
    return "\n".join(f"{by}{line}".rstrip() for line in lines)


def _folded(line: str, width: int) -> list[str]:
    if line.startswith(" ") or len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)


def _command(name: str) -> Callable[[list[str]], int]:
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise Usage(f"there is no command {name!r}.{meant}")
    return COMMANDS[name]


def _one(rest: list[str], command: str) -> str:
    if not rest:
        raise Usage(f"{command} needs the number of an exercise, as in `{PYTHON} -m exercises {command} 3`.")
    return rest[0]


def _no_more(rest: list[str]) -> None:
    if rest:
        raise Usage(f"{rest[0]!r} is too much here.")


def _exercise(number: str) -> Exercise:
    """By its number, or its folder's name."""
    course = exercises()
    for exercise in course:
        if number in (str(exercise.number), f"{exercise.number:02}", exercise.folder.name):
            return exercise
    raise Usage(f"there is no exercise {number!r}: they are numbered {_span([e.number for e in course])}.")


def _span(numbers: list[int]) -> str:
    whole = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))


def _shown(exercise: Exercise) -> str:
    return exercise.folder.relative_to(HERE.parent).as_posix()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
