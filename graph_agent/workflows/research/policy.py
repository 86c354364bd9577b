"""What a research may use and what it is held to: frozen, outside the state, read by nodes and written by none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from inspect import iscoroutinefunction
from typing import Any, Literal

from graph_agent.protocols import ContextError, Effect, Tool
from graph_agent.runtime.codec import encode
from graph_agent.runtime.jsontext import dumps, loads

VAGUE = (
    "reasonable", "reasonably", "appropriate", "appropriately", "adequate", "adequately", "sufficient", "sufficiently",
    "as far as possible", "as needed", "as necessary", "if possible", "good enough", "high quality", "well written",
    "properly", "suitable", "satisfactory", "best effort", "thorough", "comprehensive", "as much as possible",
    "\u5408\u7406", "\u9002\u5f53", "\u5c3d\u91cf", "\u5c3d\u53ef\u80fd", "\u8db3\u591f", "\u5145\u5206",
    "\u6070\u5f53", "\u9ad8\u8d28\u91cf", "\u6bd4\u8f83\u597d", "\u5b8c\u5584",
)  # fmt: skip
"""Words with which no third party could tell whether a criterion is met."""


@dataclass(frozen=True, kw_only=True)
class ToolCard:
    """A tool as the planner sees it. `schema` is the JSON Schema of its arguments, as text."""

    name: str
    description: str
    effect: Effect
    schema: str

    @property
    def shown(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "effect": self.effect,
            "arguments": loads(self.schema),
        }


def cards_of(tools: Iterable[Tool]) -> tuple[ToolCard, ...]:
    """Of a toolbox's `specs()`. Raises `ContextError` for an asynchronous tool."""
    return tuple(_card_of(one) for one in tools)


def _card_of(one: Tool) -> ToolCard:
    if getattr(one, "asynchronous", False) or iscoroutinefunction(one.__call__):
        why = "is asynchronous, and a step calls its tools from a thread"
        raise ContextError(f"{one.name} {why}: give a plain function, such as one that calls asyncio.run")
    return ToolCard(name=one.name, description=one.description, effect=one.effect, schema=dumps(dict(one.schema)))


@dataclass(frozen=True, kw_only=True)
class ResearchPolicy:
    """The rules of one research.

    sources        the fingerprint of the documents that may be read, "" where a caller's tools are the only source
    tools          what steps may call
    ask_for        effects that need a person's approval before the layer that has them
    judges         1, or 2 that must agree
    most_calls     tool calls of a step, which has as many evidence ids
    most_digest    characters of a tool's result that the state keeps
    most_shown     characters of it that a prompt gets
    workers        steps that run at once
    step_timeout   seconds for one step; what comes later is dropped and said
    vague          words that no criterion may have
    """

    tools: tuple[ToolCard, ...]
    sources: str = ""
    ask_for: tuple[Effect, ...] = ("write", "execute", "external")
    judges: Literal[1, 2] = 1
    most_calls: int = 5
    most_digest: int = 400
    most_shown: int = 800
    workers: int = 4
    step_timeout: float = 600.0
    vague: tuple[str, ...] = VAGUE

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the policy as JSON."""
        return self.hash_of(dumps(encode(self)))

    @staticmethod
    def hash_of(written: str) -> str:
        """The fingerprint of a policy as it is written."""
        return sha256(written.encode()).hexdigest()

    def card(self, name: str) -> ToolCard | None:
        return next((one for one in self.tools if one.name == name), None)

    def vague_word(self, text: str) -> str:
        """The first that the text has; "" for none. Words of scripts without blanks are found anywhere."""
        for word in self.vague:
            pattern = rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word)
            if re.search(pattern, text, re.IGNORECASE):
                return word
        return ""
