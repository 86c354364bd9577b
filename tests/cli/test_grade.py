"""`grade`: tests of a router, run by pytest on each mutant of it, without a file being changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graph_agent.cli import grade, main
from tests.cli.running import ROOT, Ended, cli, tree, variables

pytestmark = pytest.mark.slow

ROUTES = """\
from dataclasses import dataclass
from enum import Enum

from graph_agent import Route


class Stage(Enum):
    WORK = "work"
    DONE = "done"


@dataclass(frozen=True)
class Job:
    tries: int = 0


def enough(tries):
    return tries > 2


def route(state):
    if enough(state.tries):
        return Route(Stage.DONE, "enough")
    return Route(Stage.WORK, "not yet")


TABLE = {"check": route}
REASONS = {"enough: `return tries > 2` becomes `return tries >= 2`": "of no matter", "route: gone": "it was once"}
"""
TESTS = """\
from routes import TABLE, Job, Stage


def test_the_table_leads_on():
    assert TABLE["check"](Job(0)).stage is Stage.WORK
    assert TABLE["check"](Job(3)).stage is Stage.DONE
    assert TABLE["check"](Job(4)).stage is Stage.DONE
"""


ADDED = "--strict-config --strict-markers -p no:cacheprovider -p no:hypothesispytest"  # the plugin takes a second
INI = f"[pytest]\naddopts = {ADDED}\nfilterwarnings = error\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "routes.py").write_text(ROUTES, encoding="utf-8")
    (folder / "test_routes.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text(INI, encoding="utf-8")
    return folder


def graded(place: Path, *words: str, router: str = "routes:route", tests: str = "test_routes.py") -> Ended:
    return cli("grade", router, "--tests", tests, *words, home=place.parent, cwd=place)


def test_every_slip_is_seen_wherever_the_router_is_held(place: Path) -> None:
    before = tree(place)
    done = graded(place)
    assert (done.code, done.out) == (0, "route: 5 mutants, 5 killed, 0 survived (100%)\n")
    assert done.err.startswith("graph_agent: 5 mutants, ")
    assert tree(place) == before, "nothing is written beside the tests"


def test_what_survives_is_printed_and_the_code_is_1(place: Path) -> None:
    (place / "pytest.ini").unlink()
    before = tree(place)
    done = graded(place, router="routes:enough")
    assert done.code == 1
    assert tree(place) == before, "no cache of pytest's either"
    assert "SURVIVED enough: `return tries > 2` becomes `return tries >= 2`" in done.out
    assert "\n-    return tries > 2\n+    return tries >= 2" in done.out


def test_a_list_of_equivalent_mutants_is_held_to_the_truth(place: Path) -> None:
    done = graded(place, "--also", "enough", "--equivalent", "routes:REASONS", "--json")
    assert done.code == 1
    assert [one["why"] for one in done.data["equivalent"]] == ["of no matter"]
    assert done.data["stale"] == ["route: gone: no mutant is described so"]
    assert (done.data["router"], done.data["mutants"], done.data["score"]) == ("route", 11, 0.9)
    (survivor,) = done.data["survived"]
    assert survivor["description"] == "enough: `return tries > 2` becomes `return tries > 1`"
    killed = next(one for one in done.data["killed"] if one["description"].endswith("becomes `return tries < 2`"))
    assert killed["line"] == 18
    assert killed["why"].startswith("FAILED test_routes.py::test_the_table_leads_on")
    assert "+    return tries < 2" in killed["diff"]


FAILS = "from routes import *\ndef test_it():\n    assert route(Job(3)).stage is Stage.WORK\n"
OWN = "from routes import *\ndef route(state):\n    return Route(Stage.DONE, 'x')\ndef test_it():\n    route(Job())\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"tests": "nowhere.py"}, "there is no nowhere.py"),
        ({"tests": "routes.py"}, "there are no tests in routes.py"),
        ({"tests": "test_fails.py"}, "test_fails.py: the tests do not pass as things are"),
        ({"tests": "test_other.py"}, "the tests do not import routes by that name"),
        ({"router": "test_own:route", "tests": "test_own.py"}, "write the router in a module of its own"),
        ({"router": "routes:rout"}, "routes has no 'rout', did you mean 'route'?"),
        ({"router": "routes:Route"}, "Route is written in graph_agent.runtime.graph: name it there"),
        ({"router": "routes:Job"}, "Job is no function (type)"),
        ({"router": "routes"}, "give module:NAME"),
    ],
)
def test_what_can_not_be_graded_is_said(place: Path, words: dict[str, str], message: str) -> None:
    (place / "test_fails.py").write_text(FAILS, encoding="utf-8")
    (place / "test_other.py").write_text("def test_it(): pass\n", encoding="utf-8")
    (place / "test_own.py").write_text(OWN, encoding="utf-8")
    done = graded(place, **words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_without_pytest_it_says_what_to_do(place: Path) -> None:
    hidden = "import sys, runpy; sys.modules['pytest'] = None; sys.argv[0] = 'graph_agent'; "
    start = (
        hidden
        + "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'pytest' else f(n); "
    )
    run = start + "from graph_agent.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", run, "grade", "routes:route", "--tests", "test_routes.py"],
        cwd=place,
        env=variables(place.parent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no pytest for" in done.stderr


ENDLESS = """
from routes import Route, Stage
def route(number):
    while number < 0:
        number += 1
    return Route(Stage.DONE, "up")
"""


def test_tests_that_do_not_end_on_a_mutant_have_killed_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "endless_routes.py").write_text(ENDLESS, encoding="utf-8")
    (place / "test_endless.py").write_text(
        "from endless_routes import route\ndef test_it():\n    route(0)\n", encoding="utf-8"
    )
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.syspath_prepend(place)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(grade, "TIMES_LONGER", 1)
    monkeypatch.setattr(grade, "AND_SECONDS", 3.0)
    main(["grade", "endless_routes:route", "--tests", "test_endless.py", "--json"])
    for name in ("routes", "endless_routes"):
        sys.modules.pop(name, None)
    killed = json.loads(capsys.readouterr().out)["killed"]
    fates = {one["description"].partition(" becomes ")[2]: one["why"] for one in killed}
    assert fates["`while number >= 0:`"].startswith("the tests did not end in ")
