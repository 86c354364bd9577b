"""Edits in a reply, in three shapes: what a weak model gets wrong without loss is forgiven, the rest is an error."""

from __future__ import annotations

import ast
import fractions
import json
import re
import shlex
import textwrap
from itertools import accumulate
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_agent.llm.edits import (
    EXAMPLE_FILE,
    EXAMPLE_FIXED,
    EXAMPLE_PATH,
    EditError,
    EditFormat,
    apply_edits,
    edits_from_reply,
    instructions_for,
)

SHOP = '''\
"""A shop."""

import math
from typing import List


class Cart:
    """Things to buy."""

    size = 0

    def __init__(self, items):
        self.items = items

    # the sum of all
    @property
    def total(self):
        return sum(self.items) + 1

    @total.setter
    def total(self, value):
        self.items = [value]

    def text(self):
        return """
            total
        """


class Box:
    def text(self):
        return "box"


# rounds up
def price(n):
    return math.floor(n)


@staticmethod
def other(n):
    return n
'''
FILES = {"shop.py": SHOP}
TWO = {"shop.py": SHOP, "lib/tax.py": "def tax(n):\n    return n\n\n\ndef price(n):\n    return n\n"}


def fence(code: str, label: str = "python") -> str:
    return f"```{label}\n{code}```\n"


def after(reply: str, files: dict[str, str] = FILES, shape: EditFormat = "function") -> dict[str, str]:
    edits = edits_from_reply(shape, reply, files)
    return {path: apply_edits(text, [e for e in edits if e.path == path]) for path, text in files.items()}


def shop(reply: str) -> str:
    return after(reply)["shop.py"]


def refused(reply: str, files: dict[str, str] = FILES, shape: EditFormat = "function") -> EditError:
    with pytest.raises(EditError) as caught:
        edits_from_reply(shape, reply, files)
    return caught.value


PRICE = "def price(n):\n    return math.ceil(n)\n"
PRICED = SHOP.replace("math.floor", "math.ceil")


@pytest.mark.parametrize(
    "reply",
    [
        fence(PRICE),
        fence(PRICE, ""),
        fence(PRICE, "Python"),
        f"The bug is the rounding.\n\n{fence(PRICE)}\nNow it rounds up.",
        f"<think>{fence('def price(n):' + chr(10) + '    return 0' + chr(10))}</think>{fence(PRICE)}",
        f"so maybe\n</think>\n{fence(PRICE)}",
        PRICE,
        f"```python\n{PRICE}",
        fence("    def price(n):\n        return math.ceil(n)\n"),
        fence("def price(n):\n  return math.ceil(n)\n").replace("  return", "    return"),
        fence(f"# shop.py\n{PRICE}"),
        fence(f"# File: `shop.py`\n{PRICE}"),
        fence(f"# solution.py\n{PRICE}"),
        fence(f"import unittest\n\n{PRICE}\n\nclass PriceTest(unittest.TestCase):\n    pass\n"),
        fence(PRICE) + fence("import pytest\n\n\ndef test_price():\n    assert price(1.5) == 2\n"),
        fence(PRICE, "python shop.py"),
        fence(PRICE, "python:shop.py"),
        fence(f"import math\n\n\n{PRICE}"),
        fence(f"from shop import Cart\n\n\n{PRICE}"),
        fence(f"{PRICE}\n\nprint(price(1.5))\nassert price(1.5) == 2\n"),
        fence(f"{PRICE}\n\nif __name__ == '__main__':\n    price(2)\n"),
        f"Before:\n{fence('def price(n):' + chr(10) + '    return math.floor(n)' + chr(10))}After:\n{fence(PRICE)}",
        f"{fence(PRICE)}\nThen run it:\n{fence('>>> price(1.5)' + chr(10))}{fence('$ python shop.py' + chr(10), 'sh')}",
        fence(f"{PRICE}\n\nclass Box:\n    def text(self):\n        return 'box'\n"),
        fence(f"{PRICE}\n\nclass Cart:\n    ...\n\n    def text(self): ...\n"),
        fence(PRICE).replace("\n", "\r\n"),
        fence(PRICE).replace("```", "~~~~"),
    ],
)
def test_sloppiness_without_loss_is_forgiven(reply: str) -> None:
    assert shop(reply) == PRICED


TOTALLED = SHOP.replace("sum(self.items) + 1", "sum(self.items)")


@pytest.mark.parametrize(
    "code",
    [
        "class Cart:\n    @property\n    def total(self):\n        return sum(self.items)\n",
        "@property\ndef total(self):\n    return sum(self.items)\n",
        "def total(self):\n    return sum(self.items)\n",
        "    @property\n    def total(self):\n        return sum(self.items)\n",
        "class Cart:\n    'Things.'\n\n    size = 0\n\n    def total(self):\n        return sum(self.items)\n",
    ],
)
def test_a_method_is_found_with_or_without_its_class_and_keeps_its_decorator(code: str) -> None:
    assert shop(fence(code)) == TOTALLED


def test_the_setter_is_told_from_the_getter_by_its_signature() -> None:
    assert shop(fence("def total(self, value):\n    self.items = []\n")) == SHOP.replace("[value]", "[]")


def test_a_decorator_that_the_model_writes_takes_the_place_of_the_old_one() -> None:
    assert shop(fence("@cache\ndef other(n):\n    return n\n")) == SHOP.replace("@staticmethod", "@cache")


def test_the_inside_of_a_string_stays_what_it_was_when_the_method_moves() -> None:
    code = 'def text(self):\n    """Say it."""\n    return """\n        total\n    """.strip()\n'
    changed = shop(fence(f"class Cart:\n{code}".replace("\n", "\n    ").rstrip(" ")))
    assert 'return """\n            total\n        """.strip()' in changed
    moved = shop(fence("# in class Cart\n" + 'class Cart:\n  def text(self):\n    return """\n          x"""\n'))
    assert 'return """\n          x"""' in moved


def test_a_string_that_the_model_moved_with_its_block_is_moved_back() -> None:
    files = {"a.py": SHOP[SHOP.index("class Cart") : SHOP.index("class Box")]}
    changed = after(fence('def text(self):\n    x = 1\n    return """\n        total\n    """\n'), files)["a.py"]
    assert ast.literal_eval(changed.split("return ")[-1].strip()) == "\n            total\n        "


def test_strings_side_by_side_move_like_code() -> None:
    changed = shop(fence('def total(self):\n    return (\n        f"{self}"\n        "new"\n    )\n'))
    assert '        return (\n            f"{self}"\n            "new"\n        )\n' in changed


def test_a_docstring_moves_with_its_function() -> None:
    changed = shop(fence('def total(self):\n    """All.\n\n    Of it.\n    """\n    return sum(self.items)\n'))
    assert '        """All.\n\n        Of it.\n        """\n        return sum(self.items)\n' in changed


def test_several_functions_are_replaced_and_unchanged_ones_left_alone() -> None:
    code = f"{PRICE}\n\nclass Box:\n    def text(self):\n        return 'crate'\n\n\ndef other(n):\n    return n\n"
    edits = edits_from_reply("function", fence(code), FILES)
    assert len(edits) == 1 and "def other" not in edits[0].old
    assert shop(fence(code)) == PRICED.replace('"box"', "'crate'")


def test_a_new_helper_goes_before_the_function_and_its_comment() -> None:
    code = f"_CACHE = {{}}\n\n\ndef up(n):\n    return n + 1\n\n\n{PRICE.replace('math.ceil(n)', 'up(_CACHE)')}"
    inserted = "_CACHE = {}\n\n\ndef up(n):\n    return n + 1\n\n\n# rounds up\n"
    assert shop(fence(code)) == PRICED.replace("# rounds up\n", inserted).replace("math.ceil(n)", "up(_CACHE)")


def test_a_new_method_goes_into_its_class() -> None:
    new = "    def all(self):\n        return self.items\n\n"
    code = f"class Cart:\n{new}    def total(self):\n        return sum(self.all())\n"
    end = '            total\n        """\n'
    expected = SHOP.replace(end, f"{end}\n{new[:-1]}").replace("sum(self.items) + 1", "sum(self.all())")
    assert shop(fence(code)) == expected


def test_a_helper_for_a_method_goes_before_the_class() -> None:
    changed = shop(fence("def one():\n    return 0\n\n\nclass Box:\n    def text(self):\n        return one()\n"))
    assert "def one():\n    return 0\n\n\nclass Box:\n    def text(self):\n        return one()\n" in changed


def test_a_new_import_goes_after_the_last_one_and_a_known_or_unused_one_is_dropped() -> None:
    used = "def price(n: Any):\n    return os.path.sep\n"
    code = f"import math, os.path, re\nfrom typing import Any, List\n\n\n{used}"
    imports = "import math\nfrom typing import List\n"
    expected = SHOP.replace("def price(n):\n    return math.floor(n)\n", used)
    expected = expected.replace(imports, f"{imports}import os.path\nfrom typing import Any\n")
    assert shop(fence(code)) == expected


def test_a_file_with_a_future_import_takes_new_imports_after_it() -> None:
    files = {"a.py": '"""About."""\n\nfrom __future__ import annotations\n\n\ndef f(n):\n    return n\n'}
    code = "from __future__ import annotations\nimport math\n\ndef f(n):\n    return math.sqrt(n)\n"
    changed = after(fence(code), files)["a.py"]
    added = "annotations\nimport math\n"
    assert changed == files["a.py"].replace("annotations\n", added).replace("return n", "return math.sqrt(n)")


def test_one_fence_may_change_functions_of_two_files() -> None:
    code = "def tax(n):\n    return 2 * n\n\n\nclass Box:\n    def text(self):\n        return 'b'\n"
    changed = after(fence(code), TWO)
    assert "return 2 * n" in changed["lib/tax.py"] and "return 'b'" in changed["shop.py"]


def test_a_helper_in_a_fence_of_its_own_goes_where_the_function_is() -> None:
    reply = fence("def up(n):\n    return n + 1\n") + fence("def price(n):\n    return up(n)\n")
    assert "def up(n):\n    return n + 1\n\n\n# rounds up\ndef price(n):\n    return up(n)\n" in shop(reply)


def test_what_only_a_needed_helper_uses_is_needed_too() -> None:
    code = "import re\nA = 1\n\n\ndef up(n):\n    return re.sub(n, A)\n\n\ndef price(n):\n    return up(n)\n"
    changed = shop(fence(code))
    assert "import re\n" in changed
    assert "A = 1\n\n\ndef up(n):" in changed


def test_an_import_alone_may_be_the_whole_fix() -> None:
    files = {"a.py": "# about\n\n# the root\ndef f(n):\n    return math.sqrt(n)\n"}
    changed = after(fence("import math\n\ndef f(n):\n    return math.sqrt(n)\n"), files)["a.py"]
    assert changed == "# about\n\nimport math\n\n\n# the root\ndef f(n):\n    return math.sqrt(n)\n"


def test_an_import_that_changes_the_meaning_of_a_name_is_refused() -> None:
    assert refused(fence("from numpy import Cart\n\ndef price(n):\n    return Cart(n)\n")).kind == "name_taken"


def test_line_ends_and_the_missing_last_one_are_those_of_the_file() -> None:
    files = {"a.py": "\ufeffimport os\r\n\r\ndef f():\r\n    return 1\r\n\r\ndef g():\n    return 2"}
    changed = after(fence("import re\ndef f():\n    x = re\n    return x\n\ndef g():\n    return 3\n"), files)["a.py"]
    assert changed == (
        "\ufeffimport os\r\nimport re\r\n\r\ndef f():\r\n    x = re\r\n    return x\r\n\r\ndef g():\n    return 3"
    )


def test_the_file_is_told_by_its_path_when_two_have_the_function() -> None:
    code = "def price(n):\n    return n + 1\n"
    assert refused(fence(code), TWO).kind == "ambiguous"
    for named in ("lib/tax.py", "./lib/tax.py", "tax.py", "lib\\tax.py"):
        changed = after(fence(f"# {named}\n{code}"), TWO)
        assert changed["shop.py"] == SHOP
        assert changed["lib/tax.py"].endswith("return n + 1\n")


def test_two_fences_may_change_two_files() -> None:
    reply = fence("def tax(n):\n    return 2 * n\n") + "and\n" + fence(f"# shop.py\n{PRICE}")
    assert after(reply, TWO) == {
        "shop.py": PRICED,
        "lib/tax.py": TWO["lib/tax.py"].replace("return n\n", "return 2 * n\n", 1),
    }


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("I don't know.", "no_function"),
        (fence("print(1)\n"), "no_function"),
        (fence("def price(n)\n    return 1\n"), "does_not_parse"),
        (fence("def prices(n):\n    return 1\n"), "unknown_function"),
        (fence("def text(self):\n    return 1\n"), "ambiguous"),
        (fence("def price(n):\n    return math.floor(n)  # fine\n"), "no_change"),
        (fence("def price(n):\n    ...\n"), "no_change"),
        (fence(PRICE) + fence(PRICE.replace("ceil", "trunc")), "two_versions"),
        (fence(f"# lib/else.py\n{PRICE}"), "unknown_file"),
        (fence(f"Cart = None\n\n\n{PRICE.replace('n)', 'Cart)', 1)}".replace("(Cart)", "(n=Cart)")), "name_taken"),
        (fence("class Cart:\n    size = 1\n\n    def text(self):\n        return 1\n"), "name_taken"),
        (fence("def price(n, n):\n    return 1\n"), "does_not_parse"),
        (fence("class Solution:\n    def price(self, n):\n        return 1\n"), "unknown_function"),
    ],
)
def test_what_cannot_be_placed_without_loss_is_an_error(reply: str, kind: str) -> None:
    assert refused(reply).kind == kind


def test_an_unknown_function_is_answered_with_the_nearest_name() -> None:
    assert "did you mean 'price'" in str(refused(fence("def prices(n):\n    return 1\n")))


def test_a_decorator_does_not_tell_one_class_from_another() -> None:
    files = {
        "a.py": "class A:\n    @cache\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        pass\n"
    }
    assert refused(fence("def f(self):\n    return 2\n"), files).kind == "ambiguous"
    assert refused(fence("@cache\ndef f(self):\n    return 2\n"), files).kind == "ambiguous"


def test_an_ambiguous_method_is_answered_with_the_candidates() -> None:
    error = refused(fence("def text(self):\n    return 1\n"))
    assert "Cart.text on line 24 of shop.py, Box.text on line 31 of shop.py" in str(error)
    assert error.lines == (24, 31)


def test_a_broken_file_is_an_error_only_when_it_is_the_one_to_change() -> None:
    broken = {"bad.py": "def f(:\n", "notes.md": "# price", "shop.py": SHOP}
    assert after(fence(PRICE), broken)["shop.py"] == PRICED
    assert refused(fence(f"# bad.py\n{PRICE}"), broken).kind == "does_not_parse"
    assert refused(fence(PRICE), {"notes.md": "# price"}).kind == "unknown_function"


def test_a_file_that_does_not_parse_is_named() -> None:
    error = refused(fence(PRICE), {"bad.py": "def f(:\n"})
    assert (error.kind, error.lines) == ("does_not_parse", (1,))
    assert "bad.py" in str(error)


def test_a_whole_file_needs_no_path_when_there_is_one() -> None:
    assert after(f"Here:\n{fence(PRICED)}", shape="file") == {"shop.py": PRICED}
    assert after(fence(f"# shop.py\n{PRICED}"), shape="file") == {"shop.py": PRICED}


def test_whole_files_are_told_by_their_paths_and_unchanged_ones_dropped() -> None:
    reply = fence(f"# shop.py\n{SHOP}") + fence("# lib/tax.py\ndef tax(n):\n    return 0\n")
    assert after(reply, TWO, "file") == {"shop.py": SHOP, "lib/tax.py": "def tax(n):\n    return 0\n"}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("none", "no_fence"),
        (fence(SHOP), "no_change"),
        (fence(PRICED) + fence(PRICE), "two_versions"),
        (fence(f"# no/such.py\n{PRICED}"), "unknown_file"),
    ],
)
def test_a_whole_file_that_is_no_answer_is_an_error(reply: str, kind: str) -> None:
    assert refused(reply, shape="file").kind == kind


def test_several_files_without_a_path_are_an_error() -> None:
    assert "lib/tax.py, shop.py" in str(refused(fence(PRICED), TWO, "file"))


def replaces(*edits: tuple[str, str, str]) -> str:
    return json.dumps({"edits": [{"path": path, "old": old, "new": new} for path, old, new in edits]})


def test_find_and_replace_pairs_come_as_json() -> None:
    reply = f"Sure:\n```json\n{replaces(('shop.py', 'math.floor(n)', 'math.ceil(n)'))}\n```"
    assert after(reply, shape="replace") == {"shop.py": PRICED}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("no", "not_json"),
        ('{"edits": [{"old": 1, "new": "x"}]}', "not_schema"),
        ('{"edits": []}', "no_change"),
        (replaces(("shop.py", "math.flor", "math.ceil")), "no_match"),
        (replaces(("shop.py", "return", "yield")), "ambiguous"),
        (replaces(("else.py", "math.floor", "math.ceil")), "unknown_file"),
        (replaces(("shop.py", "math.floor(n)", "1"), ("shop.py", "math.floor", "2")), "overlap"),
    ],
)
def test_a_pair_that_cannot_be_applied_is_an_error(reply: str, kind: str) -> None:
    assert refused(reply, shape="replace").kind == kind


@pytest.mark.parametrize("shape", ["replace", "function", "file"])
def test_the_worked_example_is_one_that_we_read(shape: EditFormat) -> None:
    told = instructions_for(shape)
    assert f"```python\n{EXAMPLE_FILE}```" in told
    answer = told.split("The answer:\n\n")[1]
    assert after(answer, {EXAMPLE_PATH: EXAMPLE_FILE}, shape) == {EXAMPLE_PATH: EXAMPLE_FIXED}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("module", [textwrap, shlex, fractions])
def test_a_function_of_real_code_changes_in_the_one_line_and_nowhere_else(module: ModuleType, ends: str) -> None:
    text = Path(str(module.__file__)).read_text(encoding="utf-8").replace("\n", ends)
    starts = [0, *accumulate(len(line) for line in re.findall(r"[^\n]*\n|[^\n]+", text))]
    defined = [("", node) for node in ast.parse(text).body]
    defined += [
        (f"class {node.name}:\n", inner) for _, node in defined if isinstance(node, ast.ClassDef) for inner in node.body
    ]
    functions = [(owner, node) for owner, node in defined if isinstance(node, ast.FunctionDef)]
    names = [(owner, node.name) for owner, node in functions]
    once = [one for one, name in zip(functions, names, strict=True) if names.count(name) == 1]
    for owner, node in once[::4]:
        end = starts[node.end_lineno or 0]
        added = " " * node.body[-1].col_offset + "added = 1\n"
        code = textwrap.dedent(text[starts[node.lineno - 1] : end].replace("\r\n", "\n") + added)
        changed = after(fence(owner + (textwrap.indent(code, "  ") if owner else code)), {"m.py": text})["m.py"]
        expected = text[:end] + added.replace("\n", ends) + text[end:]
        assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(expected))
        if not owner:
            assert changed == expected


PARTS = [
    "```python\n",
    "```\n",
    "<think>",
    "</think>\n",
    "# shop.py\n",
    "class Box:\n",
    "  def text(self):\n",
    "    return 1\n",
]
PARTS += [
    "def price(n):\n",
    "import re\n",
    "@cache\n",
    "\0",
    '"""',
    "\ufeff",
    "\r",
    "\f",
    "{",
    '{"edits": [',
    "]}",
    "\ud800",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14), st.sampled_from(["replace", "function", "file"]))
def test_whatever_a_model_says_is_an_edit_or_an_edit_error(parts: list[str], shape: EditFormat) -> None:
    try:
        edits = edits_from_reply(shape, "".join(parts), FILES)
    except EditError:
        return
    assert apply_edits(SHOP, edits) != SHOP


def test_code_that_is_nested_too_deeply_is_an_error_and_no_crash() -> None:
    deep = "def price(n):\n    return " + "+".join("n" * 3000) + "\n"
    assert refused(fence(deep)).kind in ("too_deep", "does_not_parse")
