"""What decides success: the rules of a repair, frozen, outside the state, read by nodes and written by none.

Its fingerprint stands in each verification, so a verdict can be traced to the rules it was given under.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import PurePath
from typing import Literal

from graph_agent.llm.edits import EditFormat
from graph_agent.runtime.codec import encode
from graph_agent.runtime.jsontext import dumps
from graph_agent.tools.paths import matches

SOURCES = ("**/*.py",)

PROTECTED = (
    "tests/**", "test/**", "**/tests/**", "**/test/**", "test_*.py", "*_test.py", "tests.py", "conftest.py",
    "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", "pytest.py", "unittest.py",
    "sitecustomize.py", "usercustomize.py", "Makefile", "*.pth", ".coveragerc",
    ".github/**", ".gitlab-ci.yml", ".circleci/**", ".ci/**", "azure-pipelines.yml",
)  # fmt: skip

FORBIDDEN_WORDS = (
    "deploy", "delete", "drop table", "force push", "release", "publish", "shutdown", "credential", "credentials",
    "password", "production",
)  # fmt: skip

FORBIDDEN_MARKS = (
    r"#\s*(?:noqa|nosec|type:\s*ignore|pyright:\s*ignore|pylint:\s*disable|pragma:\s*no\s*cover|fmt:\s*off)\b",
)


@dataclass(frozen=True, kw_only=True)
class Command:
    """Evidence. A "test" must report a test that passed; for a "check" exit code 0 is enough."""

    argv: tuple[str, ...]
    kind: Literal["test", "check"] = "test"

    @property
    def text(self) -> str:
        """As a person writes it, the interpreter by its short name."""
        program = PurePath(self.argv[0]).name if self.argv else ""
        return " ".join((program, *self.argv[1:]))


@dataclass(frozen=True, kw_only=True)
class EvaluationPolicy:
    """The rules of one repair.

    allowed_root     the workspace must lie in this folder
    write, protect   globs of what may be changed, and of what may not, which wins (see `tools.paths.matches`)
    holdout          whether there are held-out tests; each of at most `holdout_runs` runs leaks a bit
    forbidden_words  a request with one of these goes to a person before any model sees it
    forbidden_marks  regular expressions that no added line may match, besides the guard's own
    max_files        how many files a patch may change
    max_reads        how many sources DIAGNOSE may read; with 2, 12 turns are enough for 2 retries
    look_timeout     seconds for one test run or file in DIAGNOSE; a late one cancels the rest
    formats          how a model proposes edits: the first, and after an invalid answer the next
    rules            the project's own rules, for REVIEW
    audit            checks that only the audit of a finished run makes, so that no run is tuned to them
    """

    allowed_root: str
    commands: tuple[Command, ...]
    write: tuple[str, ...] = SOURCES
    protect: tuple[str, ...] = PROTECTED
    holdout: bool = False
    holdout_runs: int = 3
    forbidden_words: tuple[str, ...] = FORBIDDEN_WORDS
    forbidden_marks: tuple[str, ...] = FORBIDDEN_MARKS
    max_files: int = 3
    max_reads: int = 2
    look_timeout: float = 120.0
    formats: tuple[EditFormat, ...] = ("replace",)
    rules: tuple[str, ...] = ()
    audit: tuple[Command, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the policy as JSON."""
        return sha256(dumps(encode(self)).encode()).hexdigest()

    @property
    def tests(self) -> tuple[Command, ...]:
        return tuple(command for command in self.commands if command.kind == "test")

    def may_write(self, path: str) -> bool:
        module = path.removesuffix(".py").replace("/", ".")
        evidence = (*self.commands, *self.audit)  # what is run as such
        named = any({path, module} & set(command.argv) for command in evidence)
        return matches(path, self.write) and not named and not matches(path, self.protect)

    def forbidden_word(self, request: str) -> str | None:
        found = (word for word in self.forbidden_words if re.search(rf"\b{re.escape(word)}\b", request, re.IGNORECASE))
        return next(found, None)


def default_tests(python: str, has_pytest: bool, paths: Collection[str]) -> Command:
    """The test command of a workspace with these files that names none: pytest where there is one, else unittest."""
    if has_pytest:
        return Command(argv=(python, "-m", "pytest", "-q"))
    folder = next((name for name in ("tests", "test") if any(path.startswith(f"{name}/") for path in paths)), None)
    # unittest does not look by itself into a folder that is no package
    start = () if folder is None or f"{folder}/__init__.py" in paths else ("-s", folder)
    return Command(argv=(python, "-m", "unittest", "discover", *start))
