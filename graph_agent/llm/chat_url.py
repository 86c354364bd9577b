"""The rule by which a base URL, in any spelling, becomes the URL that is called.

A URL without a path gets `/v1/chat/completions`; any other path is a prefix that is kept and gets
`/chat/completions`; a path that already ends so is taken as it is. Extra slashes go, a query stays. The rule it
keeps: what could carry a secret (user:password@, a query) is refused or never shown.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

from graph_agent.llm.chat_errors import ChatSettingError

_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")


def chat_url(base_url: str) -> str:
    """The URL of the chat completions below `base_url`. Raises `ChatSettingError`, which is a `ValueError`.

    >>> chat_url("http://localhost:11434")
    'http://localhost:11434/v1/chat/completions'
    >>> chat_url("https://example.org/api/v1/")
    'https://example.org/api/v1/chat/completions'
    """
    parts = _checked(base_url)
    path = re.sub("/{2,}", "/", parts.path).rstrip("/")
    if path.endswith("/chat/completions"):
        tail = ""
    elif path.endswith("/chat"):
        tail = "/completions"
    else:
        tail = "/chat/completions" if path else "/v1/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path + tail, parts.query, ""))


def shown_url(url: str) -> str:
    """The URL for a message or a header of a run: without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _checked(base_url: str) -> SplitResult:
    if not _VISIBLE_ASCII.fullmatch(base_url):
        what = "empty" if not base_url else "not plain ASCII without spaces and line breaks"
        raise ChatSettingError(f"the base URL is {what}: give one like http://localhost:11434/v1")
    try:
        parts = urlsplit(base_url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise ChatSettingError(f"the base URL {shown_url(base_url)} does not parse: {error}") from None
    if "@" in parts.netloc:
        raise ChatSettingError(
            f"the base URL {shown_url(base_url)} holds a user or a password: give the key as api_key, not in the URL"
        )
    if parts.scheme not in ("http", "https"):
        guess = f", did you mean http://{base_url}?" if "://" not in base_url else ""
        raise ChatSettingError(f"the base URL {shown_url(base_url)} does not start with http:// or https://{guess}")
    if not host or port == 0:
        raise ChatSettingError(f"the base URL {shown_url(base_url)} names no host or no usable port")
    if parts.fragment:
        raise ChatSettingError(f"the base URL {shown_url(base_url)} has a #fragment, which is never sent: leave it out")
    return parts
