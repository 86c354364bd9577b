"""Types whose values are written as a JSON string: datetime, Path and PurePosixPath.

Each is a `Text`: how it is written, how it is read, and which of its values come back equal. A value that would come
back different (a zone with a name, the second 02:30 of a night) does not fit; nothing is rounded or converted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

# A date alone would become midnight, and more than six decimals would be cut: both are inventions.
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?"
)


@dataclass(frozen=True, eq=False)
class Text:
    """A type written as a string. `cls` is the exact type of its values; `read` raises ValueError."""

    name: str
    cls: type
    write: Callable[[Any], str]
    read: Callable[[str], Any]
    fits: Callable[[Any], bool]
    rule: str


def text_shape(tp: Any) -> Text | None:
    """The `Text` of a type, or None. Imports nothing: a type exists only when its module is loaded."""
    if tp is _loaded("datetime", "datetime"):
        rule = "a datetime with fold=0 and no zone or a nameless datetime.timezone of whole seconds"
        return Text("datetime", tp, tp.isoformat, _read_moment, _comes_back, rule)
    if tp is _loaded("pathlib", "Path"):
        return Text("Path", type(tp()), tp.as_posix, tp, _is_clean, "a path of valid Unicode")
    if tp is _loaded("pathlib", "PurePosixPath"):
        return Text("PurePosixPath", tp, tp.as_posix, tp, _is_clean, "a path of valid Unicode")
    return None


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8, that is, whether it is free of lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _loaded(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, ...)


def _is_clean(path: Any) -> bool:
    return is_unicode(path.as_posix())


def _read_moment(text: str) -> datetime:
    from datetime import datetime

    if not _MOMENT.fullmatch(text):
        raise ValueError("write it like 2024-05-01T12:30:00+00:00")
    return datetime.fromisoformat(text)


def _comes_back(moment: datetime) -> bool:
    from datetime import timezone

    zone = moment.tzinfo
    if moment.fold or zone is None:
        return not moment.fold
    if type(zone) is not timezone:
        return False
    offset = zone.utcoffset(None)
    # Python reads an offset of less than a second as none at all
    return offset.microseconds == 0 and zone.tzname(None) == timezone(offset).tzname(None)
