"""What an import loads: looked at in a new interpreter, without the site's own start-up files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "argparse", "asyncio", "concurrent", "ctypes", "decimal", "difflib", "email", "hashlib", "http", "json", "logging",
    "multiprocessing", "pathlib", "pickle", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "unittest",
    "urllib", "xml", "zipfile",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement adds to an interpreter that has done nothing."""
    code = f"import sys; before = set(sys.modules); sys.path.insert(0, {str(ROOT)!r}); {statement}; " + (
        "added = sorted(set(sys.modules) - before); import json; print(json.dumps(added))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import graph_agent",
        "from graph_agent import Graph, GraphState, Node, Pause, Route, appended, run_graph, answer",
        "from graph_agent import arun_graph, stream, Context, NodeError",
    ],
)
def test_an_import_loads_nothing_heavy_and_nothing_foreign(statement):
    tops = {name.partition(".")[0] for name in loaded_by(statement)}
    assert not tops & HEAVY
    assert tops - {"graph_agent"} <= sys.stdlib_module_names


def test_the_package_alone_loads_none_of_its_own_modules():
    assert {name for name in loaded_by("import graph_agent") if name.startswith("graph_agent")} == {"graph_agent"}


def test_every_public_name_can_be_imported():
    import graph_agent

    for name in graph_agent.__all__:
        assert getattr(graph_agent, name) is not None
    assert set(graph_agent.__all__) <= set(dir(graph_agent))


def test_a_name_that_is_not_there_is_an_attribute_error():
    import graph_agent

    with pytest.raises(AttributeError, match="run_grahp"):
        graph_agent.run_grahp
