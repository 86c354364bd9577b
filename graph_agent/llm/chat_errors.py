"""The errors of `ChatLLM`: what went wrong, where, and what to do next.

`kind` is a word for programs, the message a sentence for people, `retryable` says whether asking again could help.
The rule it keeps: nothing is put in here that could hold the API key; the server's words come in scrubbed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from graph_agent.protocols import LLMError

Kind: TypeAlias = Literal[
    "timeout",  # connecting, waiting for the next byte, or the whole call took too long
    "connection",  # no connection, or it broke before the answer was whole
    "unauthorized",  # 401 or 403
    "not_found",  # 404: the URL or the model's name is wrong
    "rate_limited",  # 429
    "redirect",  # 3xx, not followed
    "context_too_long",  # the prompt does not fit the model
    "http",  # any other status that is not a success
    "bad_reply",  # a success that cannot be read as a chat completion
    "empty",  # a chat completion without text
    "bad_request",  # the request cannot be sent as JSON; no call was made
]


class ChatSettingError(LLMError, ValueError):
    """A `ChatLLM` cannot be built so: its URL, key, a limit or an extra field is of no use. Holds no part of a key."""


class ChatError(LLMError):
    """A call that gave no usable reply.

    `status` is the HTTP status where there was one; `wait` the seconds for which the server asks; `said` the
    server's own words and `param` the field it blames, where it named one. `attempts` counts the calls made.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        wait: float | None = None,
        said: str = "",
        param: str = "",
    ) -> None:
        super().__init__(kind, message)
        self.kind: Kind = kind
        self.message = message
        self.status, self.retryable, self.wait = status, retryable, wait
        self.said, self.param = said, param
        self.where = ""
        self.attempts = 1

    def place(self, where: str, scrub: Callable[[str], str]) -> None:
        """Say which model was asked, and take the key out of all that is said here."""
        self.where = where
        self.message, self.said, self.param = scrub(self.message), scrub(self.said), scrub(self.param)
        self.args = (self.kind, self.message)

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        asked = f" (asked {self.attempts} times)" if self.attempts > 1 else ""
        return f"{where}{self.message}{asked}"


def clip(text: str, length: int = 300) -> str:
    """The text on one line, cut with a mark when it is long. Scrub before you clip: half a key is still a leak."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length]}..."
