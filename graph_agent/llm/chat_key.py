"""The API key, in one place: it leaves only as a header, and it is taken out of every text by its value.

No pattern decides what looks like a key; what was given is what is looked for, in the spellings that servers and
libraries echo. The rule: a repr, an error, a pickle of anything that holds this object shows no part of the key.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn
from urllib.parse import quote

from graph_agent.llm.chat_errors import ChatSettingError

_MASK = "[API key]"
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")
# Local servers take any word for a key ("none", "EMPTY", "ollama"): cut out of a reply, such a word would take
# honest text with it. Messages are for people, so there only what is too short to be a word stays.
_SHORTEST_IN_MESSAGE = 4
_SHORTEST_IN_REPLY = 8


class ApiKey:
    """A key, or none (None or an empty string)."""

    __slots__ = ("_spellings", "_value")

    def __init__(self, value: str | None) -> None:
        if value and not _VISIBLE_ASCII.fullmatch(value):
            raise ChatSettingError(
                f"the API key ({len(value)} characters) holds a space, a line break or a character that is not ASCII: "
                "give it without (a key read from a file often ends in a newline: use .strip())"
            )
        self._value = value or ""
        spelt = {self._value, quote(self._value, safe=""), json.dumps(self._value)[1:-1], repr(self._value)[1:-1]}
        self._spellings = sorted(spelt, key=lambda spelling: (-len(spelling), spelling))

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def scrub(self, text: str) -> str:
        """A text for people, without the key."""
        return self._without(text, _SHORTEST_IN_MESSAGE)

    def scrub_reply(self, text: str) -> str:
        """A model's text, without the key, unless the key is a word that stands for none."""
        return self._without(text, _SHORTEST_IN_REPLY)

    def _without(self, text: str, shortest: int) -> str:
        if len(self._value) >= shortest:
            for spelling in self._spellings:
                text = text.replace(spelling, _MASK)
        return text

    def __repr__(self) -> str:
        return f"ApiKey({'set' if self._value else 'none'})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an API key is not pickled: build the ChatLLM anew where it is needed")
