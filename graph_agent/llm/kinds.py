"""The kinds of answer that a question wants: a count, a length, a size, a number, a time, a person.

The rule: each kind is two patterns, one for the question and one for what an answer of that kind has in it, in English
and the commonest words of a few other languages. What fits no pattern is of the kind "anything".
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["count", "length", "size", "number", "time", "person", "anything"]

NUMERALS = "一二两三四五六七八九十百千万"


def _any_of(words: str) -> str:
    return rf"\b(?:{'|'.join(words.split())})\b"


def _either(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_PERIOD = _any_of("what\\s(?:time|date|year|month|day|weekday)s? which\\s(?:time|date|year|month|day|weekday)s?")
_MEASURED = "(?:number|maximum|minimum|limit|port|size|length|age|price|cost|percentage)"
_QUANTITY = r"\b(?:what|which) (?:distance|weight|speed|charge|temperature|height|depth|width|pressure|rate|share)\b"
ASKED: dict[Kind, re.Pattern[str]] = {
    "count": _either(_any_of(r"how\smany wie\s?viele combien\sde cuánt[oa]s"), r"(?:多少|几)(?=[^\W\d_])"),
    "length": _either(_any_of(r"how\s(?:long|old|often|soon) wie\s(?:lange|oft|alt)"), "多久|多长"),
    "size": _either(_any_of(r"how\s(?:large|big|wide|high|deep) wie\s(?:groß|hoch)"), "多大"),
    "number": _either(
        _any_of(r"how\s(?:much|far|fast|hot|cold|warm|heavy|tall|thick|strong) wie\s?viel combien cuánt[oa]"),
        rf"\b(?:what|which)(?:'s| is| are| was)? (?:the )?(?:\w+ )?{_MEASURED}\b",
        _QUANTITY,
        "多少|多[厚高深宽重远快]",
    ),
    "time": _either(
        r"^\W*(?:(?:and|but|since|until|by|from) )?when\b",
        _any_of("wann quand cuándo"),
        _PERIOD,
        "什么时候|何时|哪[天年个]月?",
    ),
    "person": _either(
        r"^\W*(?:(?:and|but|by|to|for|from|with) )?who(?:m|se)?\b", _any_of("wer wem wen qui quién"), "谁|哪位"
    ),
}
"""What a question of a kind has in it; the first that fits."""

COUNTED = re.compile(
    r"\b(?:how many|wie ?viele|combien de|cuánt[oa]s)\s+(\w+)(?:\s+(\w+))?|(?:多少|几)([^\W\d_])", re.IGNORECASE
)
"""What is counted."""
ASKED_AS = _either(
    _any_of(
        r"how\s(?:many|much|long|old|often|soon|large|big|wide|high|deep|far|fast|late|hot|cold|warm|heavy|tall|thick|strong)"
    ),
    _PERIOD,
    _QUANTITY,
    "有?多[长久大厚高深宽重远快]|多少|几(?=[^\\W\\d_])|什么时候|何时|什么|哪[里儿位个]?|怎[么样]+|为何",
)
"""The words of a question that say only how it asks."""

_SMALL = _any_of(
    "zero one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty "
    "hundred thousand half ein(?:e[mnr]?)? zwei drei vier fünf sechs zehn"
)
_OF = rf"(?:\d|{_SMALL}|[{NUMERALS}])[\s-]*(?:\w+\s+)?"  # "5 working days"
ANY_NUMBER = _either(r"\d", _SMALL, rf"[{NUMERALS}]", _any_of(r"once twice none unlimited no\slimit"))
_DURATION = _either(
    _OF
    + _any_of(
        "ms s min h milliseconds? seconds? minutes? hours? days? weeks? months? years? characters? bytes? lines?"
    ),
    _OF + _any_of("times? sekunden? minuten? stunden? tagen? wochen? monaten? jahren? jours? heures? días?"),
    rf"[\d{NUMERALS}]\s*[天年月日小分秒周公米]",
    _any_of(
        "hourly daily nightly weekly monthly yearly every each once twice forever indefinitely until never immediately"
    ),
)
_SIZE = _either(
    _OF + _any_of("people persons? heads? (?:kilo|centi|milli)?met(?:re|er)s? feet foot miles? inches"),
    _OF + _any_of("litres? liters? kilograms? kilos? tons? tonnes? degrees?"),
    _OF + _any_of("[kmgt]i?b bytes? bits? characters? lines? rows? items? entries pages? m cm km pixels? percent"),
    r"\d\s*%|\d\s*[kmgt]i?b\b",
    r"\bunlimited\b",
)
_TIME = _either(
    r"\d",
    _any_of("january february march april june july august september october november december midnight noon"),
    _any_of("(?:mon|tues|wednes|thurs|fri|satur|sun)days? (?:mon|diens|donners|frei|sams|sonn)tags? mittwochs?"),
    _any_of("when whenever after before until once every during while soon daily nightly weekly monthly if time start"),
    _any_of("nach vor bis wenn sobald"),
    "[年月日时后前周]",
)
_NO_PERSON = _any_of(
    "(?:n?ever|after|n?either|other|under|over|number|however|whether|order|error|later|rather|further|together|another"
    "|server|container|parameter|computer|character|letter|paper|power|integer|pointer|buffer|counter|header|folder"
    "|identifier|earlier|longer|larger|smaller|higher|lower|wrapper|handler|vector|factor|color|minor|major)s?"
)
_PERSON = re.compile(
    rf"(?!{_NO_PERSON})"
    + _any_of("teams? person people groups? members? staff anyone everyone whoever nobody council committee board")
    + rf"|(?!{_NO_PERSON})"
    + _any_of(r"\w{3,}(?:ers?|ors?|ists?|ees?|man|men)")
    + r"|(?<=[a-z,:] )[A-Z][a-z]+|[^\W\da-z_]{1,6}[员者人组]"
)
FITTING: dict[Kind, re.Pattern[str]] = {
    "count": ANY_NUMBER,
    "length": _DURATION,
    "size": _SIZE,
    "number": ANY_NUMBER,
    "time": _TIME,
    "person": _PERSON,
}
"""What an answer of a kind has in it."""
