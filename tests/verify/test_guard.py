"""The guard: what a patch may not do to turn tests green, as far as files, diff and counts show it."""

from __future__ import annotations

import pytest

from graph_agent.tools.files import FileInfo
from graph_agent.tools.textedit import Version, file_diff
from graph_agent.verify.guard import guard_counts, guard_diff, guard_files
from graph_agent.verify.report import TestCounts


def diff(old: str, new: str, path: str = "shop.py") -> str:
    return file_diff(path, Version(raw=old.encode()), Version(raw=new.encode()))


def found(old: str, new: str) -> list[str]:
    return [finding.removeprefix("shop.py: ") for finding in guard_diff(diff(old, new))]


CODE = """\
def total(prices):
    check(prices)
    assert prices
    try:
        return sum(prices)
    except TypeError:
        raise ValueError("no prices")
"""


def with_line(line: str) -> str:
    """The code with a line (or several) put in."""
    return CODE.replace("    check(prices)\n", f"    check(prices)\n{line}\n")


SKIP = "a skip mark or hook was added"
VAIN = "an assert that can't fail was added"
LOOKS = "code that looks for the test runner or its caller was added"
EXIT, REPORT = "an exit that may report success was added", "a text that looks like a test report was added"
SWALLOWS = "a broad except that swallows what it catches was added"
REPLACED = "a part of the interpreter or of the test runner was replaced"

ADDED = [
    ("@pytest.mark.skip", SKIP),
    ("@pytest.mark.skipif(True, reason='later')", SKIP),
    ("    @unittest.skip('later')", SKIP),
    ("@unittest.expectedFailure", SKIP),
    ("@mark.xfail(strict=False)", SKIP),
    ("@skip('later')", SKIP),
    ("    __test__ = False", SKIP),
    ("pytestmark = [slow]", SKIP),
    ("collect_ignore = ['tests']", SKIP),
    ("    pytest.skip('later')", SKIP),
    ("    pytest.importorskip('nothing')", SKIP),
    ("    self.skipTest('later')", SKIP),
    ("    raise unittest.SkipTest('later')", SKIP),
    ("    raise SkipTest", SKIP),
    ("def load_tests(loader, tests, pattern):\n    return loader.suiteClass()", SKIP),
    ("def pytest_collection_modifyitems(items):\n    items.clear()", SKIP),
    ("    assert True", VAIN),
    ("    assert 1, 'fine'", VAIN),
    ("    assert not False  # fine", VAIN),
    ("    self.assertTrue(True)", VAIN),
    ("    self.assertFalse(0, 'x')", VAIN),
    ("    assert prices == 3 or True", VAIN),
    ("    assert total == total", VAIN),
    ("    assert self.x is self.x, 'same'", VAIN),
    ("    assert (prices == 3, 'wrong')", VAIN),
    ("    if 'pytest' in sys.modules:", LOOKS),
    ('    if "unittest" in sys.modules:', LOOKS),
    ("    if os.environ.get('PYTEST_CURRENT_TEST'):", LOOKS),
    ("    if sys.modules.get('pytest'):", LOOKS),
    ("    import unittest", LOOKS),
    ("from _pytest.assertion import util", LOOKS),
    ("    name = sys._getframe(1).f_code.co_name", LOOKS),
    ("    caller = inspect.stack()[1]", LOOKS),
    ("    for frame in traceback.extract_stack():", LOOKS),
    ("unittest.TestCase.assertEqual = lambda *a: None", REPLACED),
    ("TestCase.run = print", REPLACED),
    ("setattr(unittest, 'main', print)", REPLACED),
    ("sys.modules['tests.test_shop'] = object()", REPLACED),
    ("builtins.sum = lambda x: 3", REPLACED),
    ("    sys.stdout = open(os.devnull, 'w')", REPLACED),
    ("    sys.settrace(None)", REPLACED),
    ("    sys.exit(0)", EXIT),
    ("    sys.exit()", EXIT),
    ("    exit(0)", EXIT),
    ("    quit()", EXIT),
    ("    os._exit(0)", EXIT),
    ("    raise SystemExit", EXIT),
    ("    raise SystemExit(0)", EXIT),
    ("    raise SystemExit(None)", EXIT),
    ("    print('Ran 12 tests in 0.1s')", REPORT),
    ("    print('12 passed in 0.1s')", REPORT),
    ("    with contextlib.suppress(Exception):", SWALLOWS),
    ("    with suppress(KeyError, BaseException):", SWALLOWS),
]  # fmt: skip


@pytest.mark.parametrize(("line", "finding"), ADDED)
def test_an_added_mark_is_found(line: str, finding: str) -> None:
    assert finding in found(CODE, with_line(line))


@pytest.mark.parametrize(("line", "finding"), ADDED)
def test_a_mark_that_was_there_is_no_finding(line: str, finding: str) -> None:
    """Neither where it stays, nor where it moves, nor where it goes."""
    there = with_line(line)
    moved = f"{line}\n" + CODE
    for old, new in ((there, there.replace("sum(prices)", "len(prices)")), (there, moved), (there, CODE)):
        assert finding not in found(old, new)


@pytest.mark.parametrize(
    "line",
    [
        "    # assert True would be wrong here, and so would pytest.skip",
        "    assert total == expected",
        "    assert truth",
        "    assert (a, b) == (c, d)",
        "    assert f(x, y)",
        "    assert total in (1, 2)",
        "    def __eq__(self, other):\n        return self.price == other.price",
        "    if skip:",
        "    skipped = items[skip:]",
        "    self.skip = True",
        "    mark = 'x'",
        "    sys.exit(1)",
        "    sys.exit(main())",
        "    raise SystemExit('no prices given')",
        "    raise SystemExit(2)",
        "    except SystemExit:\n        raise",
        "    self.exit()",
        "    connection.quit()",
        "    def exit(self): return 1",
        "    importlib.import_module(name)",
        "    passed = 3",
        "    name = 'pytestish'",
        "    delta = 5",
        "    with suppress(KeyError):",
        "    sys.stdout.write(line)",
    ],
)
def test_ordinary_code_is_no_finding(line: str) -> None:
    assert found(CODE, with_line(line)) == []


HANDLERS = [
    ("    except:\n        pass", True),
    ("    except Exception:\n        pass", True),
    ("    except Exception: pass", True),
    ("    except BaseException as error:\n        return 0", True),
    ("    except (TypeError, Exception):\n        result = None", True),
    ("    except* Exception:\n        continue", True),
    ("    except Exception:\n        log('x')\n        return None", True),
    ("    except Exception:\n        # raise later\n        pass", True),
    ("    except Exception as error:\n        raise ValueError from error", False),
    ("    except:\n        close()\n        raise", False),
    ("    except Exception: raise", False),
    ("    except ValueError:\n        pass", False),
    ("    except (KeyError, shop.StockException):\n        return 0", False),
    ("    except Exception:\n\n        if x:\n            raise", False),
]  # fmt: skip


@pytest.mark.parametrize(("handler", "swallows"), HANDLERS)
def test_a_broad_except_is_found_when_it_swallows(handler: str, swallows: bool) -> None:
    old = "    try:\n        f()\n    finally:\n        g()\n"
    new = f"    try:\n        f()\n{handler}\n    finally:\n        g()\n"
    assert (SWALLOWS in found(old, new)) == swallows


def test_a_handler_that_was_widened_is_found_though_its_body_stays() -> None:
    old = "try:\n    f()\nexcept KeyError:\n    pass\n"
    assert found(old, old.replace("KeyError", "Exception")) == [SWALLOWS]
    assert found(old.replace("KeyError", "Exception"), old) == []


def test_a_handler_that_no_longer_raises_is_found() -> None:
    old = "try:\n    f()\nexcept Exception:\n    close()\n    raise\n"
    assert found(old, old.replace("    raise\n", "")) == [SWALLOWS]


def test_a_handler_that_was_broad_before_is_no_finding() -> None:
    old = "try:\n    f()\nexcept Exception:\n    pass\n"
    assert found(old, old.replace("f()", "g()").replace("    pass", "    x = 1")) == []


REMOVED = "an assert was removed"


@pytest.mark.parametrize(
    ("old", "new", "removed"),
    [
        ("    assert prices\n", "", True),
        ("    assert prices\n", "    # assert prices\n", True),
        ("    assert prices\n", "    if not prices: return 0\n", True),
        ("    self.assertEqual(a, 3)\n", "    print(a)\n", True),
        ("    with self.assertRaises(ValueError):\n", "    with open(path):\n", True),
        ("    with pytest.raises(ValueError):\n", "    if x:\n", True),
        ("    mock.assert_called_once()\n", "    pass\n", True),
        ("    assert a\n    assert b\n", "    assert a and b\n", True),
        ("    assert a == 1\n", "    assert a == 2\n", False),
        ("    assert a\n", "        assert a\n", False),
        ("    assertion = 1\n", "    x = 1\n", False),
        ("    a()\n", "    assert a()\n", False),
    ],
)
def test_an_assert_that_is_gone_is_found(old: str, new: str, removed: bool) -> None:
    assert (REMOVED in found(f"def f():\n{old}    return 1\n", f"def f():\n{new}    return 1\n")) == removed


LOOSENED = "a tolerance was loosened"


@pytest.mark.parametrize(
    ("old", "new", "loosened"),
    [
        ("assert a == approx(b, rel=1e-6)", "assert a == approx(b, rel=1e-2)", True),
        ("assert a == approx(b, abs=0.001)", "assert a == approx(b, abs=1)", True),
        ("self.assertAlmostEqual(a, b, places=7)", "self.assertAlmostEqual(a, b, places=2)", True),
        ("self.assertAlmostEqual(a, b, delta=0.1)", "self.assertAlmostEqual(a, b, delta=10)", True),
        ("return isclose(a, b, abs_tol=1e-9)", "return isclose(a, b, abs_tol=0.5)", True),
        ("EPSILON = 1e-9", "EPSILON = 1E-3", True),
        ("np.testing.assert_allclose(a, b, rtol=1e-7)", "np.testing.assert_allclose(a, b, rtol=.1)", True),
        ("assert a == b", "assert a == pytest.approx(b)", True),
        ("self.assertEqual(a, b)", "self.assertAlmostEqual(a, b)", True),
        ("assert a == approx(b, rel=1e-2)", "assert a == approx(b, rel=1e-6)", False),
        ("self.assertAlmostEqual(a, b, places=2)", "self.assertAlmostEqual(a, b, places=7)", False),
        ("def moved(x, delta=0):", "def moved(x, delta=1):", False),
        ("def rounded(x, places=3):", "def rounded(x, places=2):", False),
        ("return a == b", "return math.isclose(a, b)", False),
        ("tolerance = 0.1.2", "tolerance = 0.1", False),
        ("tol = 1_000", "tol = 999", False),
    ],
)
def test_a_loosened_tolerance_is_found(old: str, new: str, loosened: bool) -> None:
    assert (LOOSENED in found(f"x = 1\n{old}\n", f"x = 1\n{new}\n")) == loosened


def test_a_policy_may_forbid_more() -> None:
    change = diff(CODE, with_line("    check(1)  # noqa: E501"))
    assert guard_diff(change) == ()
    assert guard_diff(change, (r"#\s*noqa\b",)) == (r"shop.py: a forbidden mark was added: #\s*noqa\b",)
    moved = diff("a  # noqa\nb\n", "b\na  # noqa\n")
    assert guard_diff(moved, (r"#\s*noqa\b",)) == ()


def test_each_finding_names_its_file() -> None:
    both = diff("a\n", "import pytest\n", "a b.py") + diff("assert x\n", "", "pkg/c.py")
    assert guard_diff(both) == (f"a b.py: {LOOKS}", f"pkg/c.py: {REMOVED}")


def test_new_and_removed_files_are_looked_at_too() -> None:
    added = file_diff("new.py", None, Version(raw=b"import sys\nsys.exit(0)\n"))
    gone = file_diff("old.py", Version(raw=b"assert x\n"), None)
    assert guard_diff(added + gone) == (f"new.py: {EXIT}", f"old.py: {REMOVED}")


def test_what_is_no_text_is_a_finding_for_nobody_can_look_at_it() -> None:
    (finding,) = guard_diff(file_diff("shop.py", Version(raw=b"x = 1\n"), Version(raw=b"x = 1\0\n")))
    assert "can't be looked at" in finding


def test_a_line_that_looks_like_the_head_of_a_diff_hides_nothing() -> None:
    """A removed line `-- a/x.py` reads `--- a/x.py` in a diff, and a line may hold signs that end one elsewhere."""
    old = "x = '''\n-- a/other.py\n'''\n"
    new = "x = '''\n++ b/other.py\ndiff --git a/y b/y\n'''\nimport pytest\n"
    assert found(old, new) == [LOOKS]
    assert found("x = 1\n", "x = 1\x0c\nassert\x0bTrue\n") == [VAIN]
    assert found("x = 1\r\n", "x = 1\r\nassert True\r\n") == [VAIN]
    assert found("x = 1", "x = 1\nassert True") == [VAIN]


def test_an_empty_diff_is_clean() -> None:
    assert guard_diff("") == ()


def files(**contents: str) -> list[FileInfo]:
    return [FileInfo(path=path.replace("__", "/") + ".py", sha256=text, size=1) for path, text in contents.items()]


def may_write(path: str) -> bool:
    return not path.startswith("tests/")


@pytest.mark.parametrize(
    ("now", "findings"),
    [
        (files(a="1", b="2", tests__t="3"), ()),
        (files(a="9", b="2", tests__t="3"), ()),
        (files(a="1", b="2", tests__t="9"), ("tests/t.py changed, and may not",)),
        (files(a="1", b="2"), ("tests/t.py was removed, and may not",)),
        (files(a="1", b="2", tests__t="3", tests__u="4"), ("tests/u.py was added, and may not",)),
        (files(a="9", b="9", tests__t="3"), ("2 files changed, at most 1 may: a.py, b.py",)),
        (
            files(a="9", b="2", tests__t="9"),
            ("tests/t.py changed, and may not", "2 files changed, at most 1 may: a.py, tests/t.py"),
        ),
    ],
)  # fmt: skip
def test_only_allowed_files_change_and_not_too_many(now: list[FileInfo], findings: tuple[str, ...]) -> None:
    assert guard_files(files(a="1", b="2", tests__t="3"), now, may_write, 1) == findings


@pytest.mark.parametrize(
    ("before", "now", "finding"),
    [
        (TestCounts(passed=2, failed=1), TestCounts(passed=3), None),
        (TestCounts(passed=2, failed=1), TestCounts(passed=4), "ran 4 tests, before the change 3"),
        (TestCounts(passed=2, failed=1), TestCounts(passed=2), "ran 2 tests, before the change 3"),
        (TestCounts(passed=2, errors=1), TestCounts(passed=1), "ran 1 tests, before the change 3"),
        (TestCounts(passed=2, failed=1), TestCounts(passed=2, skipped=1), "skipped 1 tests, before the change 0"),
        (TestCounts(passed=2, skipped=1), TestCounts(passed=2, skipped=1), None),
        (None, TestCounts(passed=1), None),
        (TestCounts(passed=1), None, None),
    ],
)
def test_as_many_tests_run_as_before_and_no_more_are_skipped(
    before: TestCounts | None, now: TestCounts | None, finding: str | None
) -> None:
    assert guard_counts(before, now, "pytest") == (() if finding is None else (f"pytest {finding}",))
