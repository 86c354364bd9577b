"""What a model is told about the shape in which it shall propose edits.

Each text has the rules in a few short sentences and one worked example: measured on small bugs, a weak local model
with one example solves several times what it solves without. The rule: the example is one that our own reader takes.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

EditFormat: TypeAlias = Literal["replace", "function", "file"]

EXAMPLE_PATH = "prices.py"
EXAMPLE_FILE = """\
def unit_price(total, count):
    if count == 0:
        return 0
    return total * count
"""
EXAMPLE_FIXED = EXAMPLE_FILE.replace("total * count", "total / count")

_ANSWERS: dict[EditFormat, tuple[str, str]] = {
    "function": (
        """\
Answer with the whole corrected function in one ```python fence.
Write every line of it, also those that stay the same. Keep its name and its arguments.
Change as little as you can. Write a method under the line of its class.""",
        f"```python\n{EXAMPLE_FIXED}```\n",  # no path: a weak model would copy the example's
    ),
    "file": (
        """\
Answer with the whole corrected file in one ```python fence.
Write every line of it, also those that stay the same. Change as little as you can.
A comment on the first line names the file.""",
        f"```python\n# {EXAMPLE_PATH}\n{EXAMPLE_FIXED}```\n",
    ),
    "replace": (
        """\
Answer with one JSON object and nothing else: {"edits": [{"path": ..., "old": ..., "new": ...}]}.
"old" is copied from the file, blanks included, and long enough to occur only once in it; whole lines are best.
"new" is what shall stand there instead. Change as little as you can.""",
        '{"edits": [{"path": "prices.py", "old": "    return total * count", "new": "    return total / count"}]}\n',
    ),
}


def instructions_for(shape: EditFormat) -> str:
    """How to write the answer, with one worked example; it stands after what the node wants done."""
    rules, answer = _ANSWERS[shape]
    example = f"Example. The file {EXAMPLE_PATH}, where unit_price(10, 2) shall be 5:\n\n```python\n{EXAMPLE_FILE}```\n"
    return f"{rules}\n\n{example}\nThe answer:\n\n{answer}"
