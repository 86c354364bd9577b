"""What a user installs: a small wheel with the package, its license and its types, that needs nothing besides."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest

import graph_agent

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as `pip wheel .` makes it, without network: so only where setuptools is there already."""
    if find_spec("pip") is None or not _setuptools_will_do():
        pytest.skip("this interpreter has no pip and setuptools 77 to build with")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a build writes into the tree that it is given
    source.mkdir()
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    for name in ("graph_agent", "tests", "fixtures"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    words = ["wheel", str(source), "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run(
        [sys.executable, "-m", "pip", *words],
        check=True,
        timeout=120,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    (built,) = folder.glob("*.whl")
    return built


def _setuptools_will_do() -> bool:
    if find_spec("setuptools") is None:
        return False
    from importlib.metadata import version

    return int(version("setuptools").split(".")[0]) >= 77


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 600_000


def test_the_wheel_holds_the_package_whole_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"graph_agent", f"graph_agent-{graph_agent.__version__}.dist-info"}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "graph_agent").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert "graph_agent/py.typed" in names
    assert "graph_agent/LICENSE" in names
    assert any(name.endswith(".dist-info/licenses/graph_agent/LICENSE") for name in names)


def test_the_wheel_says_what_it_is_and_needs_nothing(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    told = Parser().parsestr(archive.read(name).decode("utf-8"))
    assert told["Version"] == graph_agent.__version__
    assert told["License-Expression"] == "MIT"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Summary"]
    assert told["Description-Content-Type"] == "text/markdown"
    needed = [line for line in told.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert needed == []


def test_the_package_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c"]
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); from graph_agent.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run([*command, code], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_version_is_written_once_in_each_place() -> None:
    assert PROJECT["version"] == graph_agent.__version__


def test_running_needs_nothing_and_testing_two_packages() -> None:
    assert PROJECT["dependencies"] == []
    names = [need.split(">")[0] for need in PROJECT["optional-dependencies"]["test"]]
    assert names == ["pytest", "hypothesis"]


def test_the_license_travels_with_a_copy_of_the_package() -> None:
    assert (ROOT / "graph_agent" / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert PROJECT["license"] == "MIT"
    assert PROJECT["license-files"] == ["graph_agent/LICENSE"]
