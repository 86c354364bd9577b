"""What can be wrong with a model's reply, one type for each, because each is mended differently.

All descend from `AskError` and carry the raw text. The rule: an answer that was cut, refused or is not what was asked
for is never a value, not even in part.
"""

from __future__ import annotations

from typing import ClassVar

from graph_agent.protocols import LLMError


class AskError(LLMError):
    """A reply of no use. `raw` is its text, `asked` how many calls were made for it (0: the text was only read)."""

    kind: ClassVar[str] = "ask"

    def __init__(self, message: str, *, raw: str, asked: int = 0) -> None:
        calls = f" (asked {asked} times)" if asked > 1 else ""
        super().__init__(f"{message}{calls}")
        self.message, self.raw, self.asked = message, raw, asked


class Truncated(AskError):
    """The reply was cut at the token limit. Asking again with the same limit would cut it again."""

    kind = "truncated"


class Refused(AskError):
    """The model, or a filter before it, refused to answer."""

    kind = "refused"


class NotJSON(AskError):
    """There is no JSON in the reply, or more than one candidate, or it is broken."""

    kind = "not_json"


class NotSchema(AskError):
    """The JSON does not fit the type that was asked for. `path` is the place, as in "steps[2].file"."""

    kind = "not_schema"

    def __init__(self, message: str, *, raw: str, asked: int = 0, path: str = "") -> None:
        super().__init__(message, raw=raw, asked=asked)
        self.path = path


class NotAccepted(AskError):
    """The value fits its type, and the caller's own check turned it down."""

    kind = "not_accepted"
