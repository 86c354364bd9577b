"""One JSON document on stdout: in ASCII, so that it is the same on every console, and valid Unicode when it is read."""

from __future__ import annotations

import json
from typing import Any


def print_json(data: dict[str, Any]) -> None:
    """Print `data` on one line. A byte that is no UTF-8, from a file or its name, shows as a backslash escape."""
    print(json.dumps(_whole(data), ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _whole(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(data, dict):
        return {key: _whole(value) for key, value in data.items()}
    return [_whole(value) for value in data] if isinstance(data, list | tuple) else data
