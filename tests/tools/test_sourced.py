"""What a tool gives becomes a text that can be cited, or an error that says what to return."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from graph_agent.tools.sourced import NoText, Sourced, sourced


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Row:
    name: str
    sizes: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        (Sourced(text="mine", source="a.md"), "mine"),
        (None, ""),
        ((), ""),
        ({}, ""),
        (0, "0"),
        (False, "false"),
        ({"é": [1, 2.5]}, '{\n "é": [\n  1,\n  2.5\n ]\n}'),
        (Row("a", (1,)), '{\n "name": "a",\n "sizes": [\n  1\n ]\n}'),
        ((Colour.RED, Path("a/b")), '[\n "red",\n "a/b"\n]'),
        ({"b", "a"}, '[\n "a",\n "b"\n]'),
    ],
)
def test_a_value_is_written_as_text(value: Any, text: str) -> None:
    assert sourced("look", value).text == text


def test_what_no_text_can_stand_for_is_an_error_that_names_the_tool() -> None:
    with pytest.raises(NoText, match=r"look gave .*: return a text, JSON data, a dataclass, or a Sourced"):
        sourced("look", {"a": object()})


def test_the_place_is_the_source_with_its_span() -> None:
    assert Sourced(text="", source="a.md", span="3-4").place == "a.md:3-4"
    assert Sourced(text="", source="a.md").place == "a.md"
