"""The words, sentences and numbers of a text in any language: what search, quotes and checks compare.

No model, no dictionary, no I/O. The rule: a sentence is the text's own words with nothing but its white space folded,
so whoever folds the white space of the source finds it there again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import decimal, normalize

from graph_agent.tools.functionwords import FUNCTION_WORDS, IRREGULAR, UNSPACED
from graph_agent.tools.sentences import Sentence, sentences

__all__ = ["EXAMPLES", "Sentence", "content_terms", "numbers", "sentences", "terms"]

EXAMPLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # what is written, and which numbers it states
    ("at most 1,000 steps, 25 a day", ("1000", "25")),
    ("1_000 and 1\u202f000 are the same", ("1000",)),
    ("\uff12\uff15\u6b65, 3.50 EUR, 5%, 30s, 007", ("25", "3.5", "5", "30", "7")),
    ("Python 3.10, version 1.20, v2.0, section 4.10", ("3.10", "1.20", "2.0", "4.10")),  # names, not amounts
    ("1.000 may be one or a thousand", ("1.000",)),
    ("2024-05-01, 127.0.0.1, 0xFF, 1e6", ("2024", "5", "1", "127.0.0.1", "0xff", "1e6")),
    ("UTF-8 but not IPv6, utf8, E1, x86, 4f3a9c or three", ("8",)),
)
"""The rule of `numbers` in examples, which the tests run."""

_MARKS = (  # vowel signs and accents belong to the letter before, which \w does not know
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84"
)
_HAN_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_UNSPACED = f"{_HAN_KANA}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uac00-\ud7af"  # and Thai, Lao, Burmese, Khmer, Hangul
_WORD = re.compile(
    rf"(?P<cjk>[{_HAN_KANA}]+(?:\s[{_HAN_KANA}]+)*|[{_UNSPACED}]+)"
    rf"|(?P<number>\d+(?:[.,]\d+)+)|(?P<word>(?:(?![{_UNSPACED}])[\w{_MARKS}])+)"
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_NUMBER = re.compile(
    r"0x[0-9a-f]+\b|\d+(?:\.\d+)?e[+-]?\d+\b"
    r"|(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d{3})+)(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*"
)
_NAMED = re.compile(r"(?:\bv|\b(?:version|release|python|section|chapter|part)s?\s|\u00a7\s?|\u7248\u672c\s?)$")


def terms(text: str) -> list[str]:
    """Every word as a term, in order: words of one stem are one term, "retries" and "retry".

    An identifier is there whole and in parts (`max_turns`, then max, turn); what is written without spaces, such as
    Chinese, as pairs of neighbouring characters.
    """
    return [term for found in _WORD.finditer(normalize("NFKC", text)) for term in _terms_of(found)]


def content_terms(text: str) -> tuple[str, ...]:
    """The terms without function and question words, each once."""
    kept: dict[str, None] = {}
    for found in _WORD.finditer(normalize("NFKC", text)):
        if found.lastgroup == "cjk":
            kept.update(dict.fromkeys(_content_pairs(found[0])))
        elif found[0].casefold() not in FUNCTION_WORDS:
            kept.update((term, None) for term in _terms_of(found) if term not in FUNCTION_WORDS)
    return tuple(kept)


def numbers(text: str) -> frozenset[str]:
    """The numbers that a text states, in digits, written one way. `EXAMPLES` says what counts."""
    joined = re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text)
    plain = "".join(str(decimal(c)) if c.isdecimal() else c for c in normalize("NFKC", joined)).casefold()
    return frozenset(_normal(found[0], plain[: found.start()]) for found in _stated(plain))


def _terms_of(found: re.Match[str]) -> tuple[str, ...]:
    return _pairs(found[0]) if found.lastgroup == "cjk" else _stems(found[0])


def _pairs(run: str) -> tuple[str, ...]:
    plain = "".join(run.split())
    return tuple(map("".join, pairwise(plain))) or (plain,)


def _content_pairs(run: str) -> list[str]:
    pieces = [piece for piece in UNSPACED.split("".join(run.split())) if piece]
    alone = len(pieces) == 1
    return [pair for piece in pieces if alone or len(piece) > 1 for pair in _pairs(piece)]


@lru_cache(maxsize=65_536)
def _stems(word: str) -> tuple[str, ...]:
    parts = [part for part in word.split("_") if part]
    parts = [small for part in parts for small in _camel_parts(part)]
    if len(parts) < 2 and "_" not in word:
        return (_stem(word.casefold()),)
    return (word.casefold(), *(_stem(part.casefold()) for part in parts))


def _camel_parts(part: str) -> list[str]:
    return _CAMEL.findall(part) if part.isascii() and re.search("[a-z][A-Z]", part) else [part]


def _stem(word: str) -> str:
    """English endings folded, lightly: no stem is claimed to be a word, only to be the same for the same word."""
    if word.isdecimal():
        return word.lstrip("0") or "0"
    word = IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _without_tense(_singular(word))
    for ending, left, put in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= left:
            word = word[: -len(ending)] + put
            break
    if len(word) > 3:
        word = word.removesuffix("e")
    if len(word) > 5:
        word = re.sub("is$", "iz", word)  # initialise, initialize
    return re.sub("(?<=..)our$", "or", word) if len(word) > 4 else word


_ENDINGS = (  # an ending, how much must be left, what takes its place
    ("isation", 4, "iz"), ("ization", 4, "iz"), ("ically", 3, "ic"), ("ably", 4, "abl"), ("ibly", 4, "ibl"),
    ("ly", 4, ""), ("ment", 6, ""), ("ation", 4, ""), ("ative", 4, ""), ("ate", 4, ""), ("at", 5, ""),
    ("sion", 3, "s"), ("tion", 3, "t"),
)  # fmt: skip


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem == word or word.endswith("eed") or not re.search("[aeiouy]", stem):
            continue
        if len(stem) < 3:
            return f"{stem}e" if stem[0] in "aeiou" else word
        return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "aeiouls" else stem
    return word


def _stated(plain: str) -> list[re.Match[str]]:
    return [found for found in _NUMBER.finditer(plain) if _stands_alone(plain, found.start(), found.end())]


def _stands_alone(plain: str, start: int, end: int) -> bool:
    """Not a part of a name such as x86, nor of a hash; a unit may follow, and a "v" stand before."""
    before = re.search(r"\w*$", plain[max(0, start - 20) : start])
    after = re.match(r"\w*", plain[end : end + 20])
    name, unit = before[0] if before else "", after[0] if after else ""
    in_a_name = name.isascii() and name not in ("", "v")
    return not in_a_name and "_" not in unit and not any(c.isdecimal() for c in name[-1:] + unit)


def _normal(number: str, before: str) -> str:
    if number.startswith("0x") or "e" in number or number.count(".") > 1:
        return number
    whole, dot, rest = number.replace(",", "").replace("_", "").partition(".")
    whole = whole.lstrip("0") or "0"
    if _NAMED.search(before[-12:]) or (len(rest) == 3 and len(whole) < 4):
        return whole + dot + rest
    return f"{whole}.{rest}".rstrip("0").rstrip(".") if rest else whole
