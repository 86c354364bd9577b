"""Commands that are refused, hang, flood, leave children behind, or do not exist."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from graph_agent.protocols import ToolError
from graph_agent.tools import command
from graph_agent.tools.command import OUTPUT_LIMIT, CommandResult, Commands, parse_command
from graph_agent.tools.toolbox import Toolbox

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")
Run = Callable[..., CommandResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run Python code as an allowed command, without isolation."""

    def run_code(code: str, **options: Any) -> CommandResult:
        argv = (sys.executable, "-c", code)
        settings = {"timeout": 20, "isolation": "none"} | options
        return Commands(tmp_path, [argv], **settings).run_command(argv)

    return run_code


@pytest.mark.parametrize(
    "text",
    ["pytest; rm x", "pytest && rm x", "pytest | sh", "pytest\nrm x", "pytest & rm x", "pytest $(rm x)",
     "pytest `rm x`", "pytest > /etc/x", "pytest < x", "(pytest)", "pytest $HOME", "pytest ${HOME}",
     'pytest "$(rm x)"', 'pytest "`rm x`"', "FOO=1 rm x",
     "FOO+=1 rm x", "", "   ", "''", "pytest 'open", "pytest \\\nrm", "pytest\0x"],
)  # fmt: skip
def test_a_command_text_that_needs_a_shell_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_command(text)
    assert refused.value.kind == "not_allowed"
    assert refused.value.message.endswith(".") and refused.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python -m pytest -q", ("python", "-m", "pytest", "-q")),
        ('pytest -k "a; b && c"', ("pytest", "-k", "a; b && c")),
        ("pytest -k '$(x) `y`'", ("pytest", "-k", "$(x) `y`")),
        ("pytest t.py::test_x[1-2] --opt=3", ("pytest", "t.py::test_x[1-2]", "--opt=3")),
        ("grep 'end$' file$ # x", ("grep", "end$", "file$", "#", "x")),
    ],
)
def test_quotes_make_operators_data(text: str, words: tuple[str, ...]) -> None:
    assert parse_command(text) == words


@POSIX
def test_a_backslash_makes_the_next_sign_data() -> None:
    assert parse_command(r"run a\;b c\ d") == ("run", "a;b", "c d")


@pytest.mark.parametrize(
    "argv",
    ["pytest; rm x", "pytest", ["pytestx"], ["git", "statusx"], ["git", "-c", "core.pager=x", "status"],
     ["sh", "-c", "pytest"],
     ["FOO=1", "pytest"], [], [""], ["pytest", "-q"], ["git"], ["git", "status", "--porcelain"], ["git status"]],
)  # fmt: skip
def test_only_a_whole_command_of_the_list_runs(tmp_path: Path, argv: Sequence[str]) -> None:
    commands = Commands(tmp_path, [("pytest",), ("git", "status")], timeout=5, isolation="none")
    with pytest.raises(ToolError) as refused:
        commands.run_command(argv)
    assert refused.value.kind == "not_allowed"
    assert "unchanged: " in refused.value.hint
    assert argv != ["git", "statusx"] or refused.value.hint.endswith("unchanged: git status")


def test_operators_inside_a_word_are_data(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", "import sys; print(sys.argv[1])", "a; b | $(c)")
    assert Commands(tmp_path, [argv], timeout=20, isolation="none").run_command(list(argv)).output == "a; b | $(c)\n"


def test_the_exit_code_and_both_streams_in_their_order_come_back(run: Run) -> None:
    result = run("import sys; print(1); print(2, file=sys.stderr); print(3); sys.exit(7)")
    assert (result.exit_code, result.output, result.timed_out, result.problem) == (7, "1\n2\n3\n", False, "")
    assert result.isolation == "none" and 0 < result.seconds < 20


def test_a_program_that_does_not_exist_is_a_result_that_says_so(tmp_path: Path) -> None:
    result = Commands(tmp_path, [("no-such-program",)], timeout=5).run_command(("no-such-program",))
    assert (result.exit_code, result.problem) == (None, "command not found: no-such-program")


@POSIX
def test_a_program_found_only_in_the_workspace_is_not_run_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "bin" / "planted"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\necho planted\n", encoding="utf-8")
    planted.chmod(0o755)
    monkeypatch.chdir(planted.parent)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", str(planted.parent), os.environ["PATH"])))
    commands = Commands(tmp_path, [("planted",), ("bin/planted",)], timeout=5, isolation="none")
    assert commands.run_command(("planted",)).problem == "command not found: planted"
    assert commands.run_command(("bin/planted",)).output == "planted\n"  # by its path it is meant


@POSIX
def test_a_file_that_is_no_program_is_a_result_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "limited", lambda argv: argv)  # by a shell, which has an exit code of its own for it
    (tmp_path / "x").write_bytes(b"\x00\x01")
    (tmp_path / "x").chmod(0o755)
    result = Commands(tmp_path, [("./x",)], timeout=5, isolation="none").run_command(("./x",))
    assert result.exit_code is None and result.problem.startswith("command could not be started: ./x: ")


STARTS_A_CHILD = """
import os, subprocess, sys, time
beat = "import time; [(open('beat', 'a').write('.'), time.sleep(0.05)) for _ in range(600)]"
subprocess.Popen([sys.executable, "-c", beat])
while not os.path.exists("beat"):
    time.sleep(0.01)
print("hi", flush=True)
"""


def still_beats(root: Path) -> bool:
    """Whether a child that adds to the file `beat` twenty times a second is still alive."""
    before = (root / "beat").stat().st_size
    time.sleep(0.4)
    return (root / "beat").stat().st_size > before


def test_a_timeout_ends_the_whole_group_and_keeps_the_output_so_far(run: Run, tmp_path: Path) -> None:
    result = run(f"{STARTS_A_CHILD}time.sleep(60)", timeout=2)
    assert (result.timed_out, result.exit_code, result.output) == (True, None, "hi\n")
    assert result.seconds < 10
    assert not still_beats(tmp_path)


def test_a_child_left_behind_neither_holds_up_the_result_nor_lives_on(run: Run, tmp_path: Path) -> None:
    result = run(STARTS_A_CHILD)
    assert (result.timed_out, result.exit_code, result.output) == (False, 0, "hi\n")
    assert result.seconds < 15  # the child would hold the pipe for 30
    assert not still_beats(tmp_path)


@POSIX
def test_a_group_that_ignores_the_polite_signal_is_killed(run: Run) -> None:
    result = run("import signal, time; signal.signal(15, signal.SIG_IGN); print(1); time.sleep(60)", timeout=1.5)
    assert result.timed_out and result.output == "1\n" and result.seconds < 10


@POSIX
def test_a_grandchild_that_left_the_group_with_the_pipe_is_not_waited_for(run: Run) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '20'], start_new_session=True); print('out')"
    result = run(code)
    assert (result.exit_code, result.output) == (0, "out\n") and result.seconds < 15


def test_a_program_that_closes_its_output_is_still_waited_for_and_timed(run: Run) -> None:
    assert run("import os, time; os.close(1); os.close(2); time.sleep(0.3); os._exit(4)").exit_code == 4
    assert run("import os, time; os.close(1); os.close(2); time.sleep(60)", timeout=0.5).timed_out


@POSIX
def test_ctrl_c_ends_the_command_with_its_children(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    code = f"{STARTS_A_CHILD}time.sleep(60)"
    script.write_text(
        f"""
import sys
from pathlib import Path
from graph_agent.tools.command import Commands
argv = (sys.executable, "-c", {code!r})
print("ready", flush=True)
try:
    Commands(Path({str(tmp_path)!r}), [argv], timeout=60, isolation="none").run_command(argv)
except KeyboardInterrupt:
    sys.exit(130)
""",
        encoding="utf-8",
    )
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(root)}
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(400):
            if (tmp_path / "beat").exists():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    assert not still_beats(tmp_path)


def test_there_is_no_keyboard_to_wait_for(run: Run) -> None:
    result = run("input('pw? ')", timeout=10)
    assert result.exit_code == 1 and "EOFError" in result.output and not result.timed_out


@POSIX
def test_there_is_no_terminal(run: Run) -> None:
    assert run("open('/dev/tty')").exit_code == 1


def test_a_flood_keeps_its_head_its_tail_and_its_exit_code(run: Run) -> None:
    flood = "print('first'); [sys.stdout.write('x' * 1000) for _ in range(30000)]; print('FAILED t.py::a'); sys.exit(3)"
    result = run(f"import sys; {flood}")
    assert result.exit_code == 3
    assert result.output.startswith("first\n") and result.output.rstrip().endswith("FAILED t.py::a")
    assert len(result.output) < 2 * OUTPUT_LIMIT and f"{result.dropped} bytes dropped" in result.output
    assert result.dropped > 29_000_000


def test_output_that_is_no_text_does_no_harm(run: Run) -> None:
    result = run(r"import sys; sys.stdout.buffer.write(b'ok \xff\xfe \x00 \x1b[31mred\r\n caf\xc3'); sys.exit(2)")
    assert result.exit_code == 2
    assert result.output == "ok \ufffd\ufffd \u2400 red\n caf\ufffd"


def test_the_locale_of_the_caller_does_not_matter(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    assert run("print('é')").output == "é\n"


def test_a_command_sees_only_the_listed_variables(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "zz-CANARY-123")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    result = run("import os; print(sorted(os.environ), os.environ['LANG'])")
    assert "OPENAI_API_KEY" not in result.output and "PYTHONPATH" not in result.output
    assert "'GIT_TERMINAL_PROMPT'" in result.output and result.output.endswith(" C.UTF-8\n")
    assert "zz-CANARY-123" not in run("import os; print(dict(os.environ))").output


def test_home_and_temporary_folder_are_the_commands_own_and_gone_afterwards(run: Run, tmp_path: Path) -> None:
    code = """
import os, tempfile
from pathlib import Path
assert os.listdir(Path.home()) == []
print(tempfile.gettempdir() == str(Path.home()))
(Path.home() / "left").write_text("x")
Path("where").write_text(str(Path.home()))
"""
    assert run(code).output == "True\n"
    assert not Path((tmp_path / "where").read_text(encoding="utf-8")).exists()
    assert Path.home().exists()


def test_the_output_does_not_tell_where_the_workspace_lies(run: Run, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("1 / 0\n", encoding="utf-8")
    output = run("import os, sys; sys.path.insert(0, os.getcwd()); print(os.getcwd()); import shop").output
    assert output.startswith(".\n") and 'File "shop.py", line 1' in output
    assert str(tmp_path) not in output


@LINUX
def test_a_loop_that_allocates_for_ever_is_stopped_by_the_memory_limit(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "MEMORY", 200 * 1024**2)
    result = run("x = []\nwhile True: x.append(bytearray(10**7))")
    assert result.exit_code == 1 and "MemoryError" in result.output


def test_the_tool_offers_the_listed_commands_and_no_other(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", "print('a b')")
    (tool,) = Commands(tmp_path, [argv], timeout=20, isolation="none").tools()
    assert (tool.name, tool.effect, tool.metered) == ("run_command", "execute", True)
    assert list(tool.schema["properties"]) == ["argv"]  # nobody chooses the time
    box = Toolbox([tool])
    assert box.call("run_command", argv=list(argv)).value.output == "a b\n"
    refused = box.call("run_command", argv=("rm", "-r"))
    assert (refused.error.kind, refused.verdict) == ("not_allowed", "refused: not allowed")
