import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.tools.functionwords import FUNCTION_WORDS
from graph_agent.tools.words import EXAMPLES, Sentence, content_terms, numbers, sentences, terms


def said(text):
    return [(one.text, one.first, one.last) for one in sentences(text) if not one.heading]


def headings(text):
    return [one.text for one in sentences(text) if one.heading]


@pytest.mark.parametrize(
    "words",
    [
        "limit limits limited limiting",
        "retry retries retried retrying",
        "cache caches cached caching",
        "use uses used using",
        "stop stops stopped stopping",
        "install installs installation",
        "initialise initialize initialisation",
        "expire expires expired expiration",
        "keep keeps kept keeping",
        "write wrote written writes",
        "person people",
        "Straße STRASSE",
        "\uff4d\uff41\uff58 max",
    ],
)
def test_forms_of_one_word_are_one_term(words):
    assert len(set(terms(words))) == 1


@pytest.mark.parametrize("words", ["string ring", "need feed", "status state", "using users", "process princess"])
def test_different_words_stay_apart(words):
    assert len(set(terms(words))) == len(words.split())


def test_an_identifier_is_there_whole_and_in_parts():
    assert terms("max_turns") == ["max_turns", "max", "turn"]
    assert terms("maxTurns __init__ os.path") == ["maxturns", "max", "turn", "__init__", "init", "os", "path"]


def test_text_without_spaces_is_read_in_pairs_of_characters():
    assert terms("运行上限 abc") == ["运行", "行上", "上限", "abc"]
    assert terms("上\n限") == ["上限"]  # a hard-wrapped line
    assert terms("限") == ["限"]


def test_vowel_signs_belong_to_their_word():
    assert terms("हिन्दी में") == ["हिन्दी", "में"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many turns may a run take, and who decides?", ("turn", "run", "tak", "decid")),
        ("运行的上限是多少？", ("运行", "上限")),
        ("Wie lange werden Protokolle aufbewahrt?", ("protokoll", "aufbewahrt")),
        ("Combien de jours sont les journaux gardés ?", ("jour", "journaux", "gardés")),
        ("What is it?", ()),
        ("Run the run", ("run",)),
    ],
)
def test_content_terms_are_those_that_carry_the_subject_each_once(question, expected):
    assert content_terms(question) == expected


@given(st.text())
def test_no_text_is_too_odd_for_terms(text):
    assert all(terms(text))
    assert len(set(content_terms(text))) == len(content_terms(text))
    assert FUNCTION_WORDS.isdisjoint(content_terms(text))


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_the_numbers_of_the_table(text, expected):
    assert numbers(text) == frozenset(expected)


@given(st.integers(0, 10**9))
def test_a_number_is_the_same_however_it_is_grouped_or_spelled(number):
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in str(number))
    assert numbers(f"{number:,} {number:_} {number} {wide} {number}.0") == {str(number)}


def test_a_hard_wrapped_paragraph_is_joined_and_keeps_its_lines():
    text = "# Runs\n\nA run takes at\nmost 25 turns. Then it\nstops.\n"
    assert said(text) == [("A run takes at most 25 turns.", 3, 4), ("Then it stops.", 4, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "Use e.g. The guide of Mr. Smith, i.e. No. 5 of v1.2 at 3.5 percent.",
        "It took J. Doe et al. Three years.",
        "See Fig. 3 and Sec. 4 for max_turns.txt.",
        "Siehe z. B. Kapitel 3.",
    ],
)
def test_an_abbreviation_ends_no_sentence(text):
    assert said(text) == [(text, 1, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("最多40步。然后停止！真的？", ["最多40步。", "然后停止！", "真的？"]),
        ('He said "Stop." Then it stopped.', ['He said "Stop."', "Then it stopped."]),
        ("It is 5. The rest is 6. max_turns is 7.", ["It is 5.", "The rest is 6.", "max_turns is 7."]),
        ("- one thing\n- another\n  thing\n\n1. first\n2. second", ["one thing", "another thing", "first", "second"]),
        ("| a | b |\n|---|---|\n| x | 25 |\n| y | 30 |", ["| x | 25 |", "| y | 30 |"]),
        ("===== =====\nName  Value\n===== =====\nx     25\ny     30\n===== =====\n", ["x 25", "y 30"]),
        ("Status: Final\nAuthor: A. Person\n\nText is here.", ["Status: Final", "Author: A. Person", "Text is here."]),
        ("> It was said.\n> Twice.", ["It was said.", "Twice."]),
        ("Run this:\n\n    x = 1\n    y = f(x)\n\nThen stop.", ["Run this:", "Then stop."]),
        ("Run this::\n\n  any words at all\n\n  and more\n\nThen stop.", ["Run this::", "Then stop."]),
        ("Before.\n\n```\nNot a sentence. Never.\n\nNor this.\n```\nAfter.", ["Before.", "After."]),
        (".. note:: Take care.\n\n.. _label:\n\nText.", ["Take care.", "Text."]),
    ],
)
def test_what_ends_a_sentence(text, expected):
    assert [one for one, *_ in said(text)] == expected


def test_a_page_break_of_an_rfc_ends_a_sentence_and_its_edges_are_left_out():
    text = (
        "   A client may send\n   the\n\nFielding & Reschke    Standards Track    [Page 12]\n\f\n"
        "RFC 7230      HTTP/1.1      June 2014\n\n   request again.  It waits.\n"
    )
    assert [one for one, *_ in said(text)] == ["A client may send the", "request again.", "It waits."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A title #\n\nText.", ["A title"]),
        ("Title\n=====\n\nPart\n----\nText is here.", ["Title", "Part"]),
        ("3.2.  Overall Operation\n\n   Text is here.", ["3.2. Overall Operation"]),
        ("1.  Introduction\n\n   Text is here.", ["Introduction"]),
        ("OPERATIONS HANDBOOK\n\nText is here.", ["OPERATIONS HANDBOOK"]),
        ("What is new in 2.0\n\nText is here.", ["What is new in 2.0"]),
        ("The limit is 25\n\nText is here.", []),
        ("str.casefold()\n\n   Return a copy.", ["str.casefold()"]),
        ("| Name | Value |\n|------|-------|\n| x | 1 |", ["| Name | Value |"]),
    ],
)
def test_what_only_names_a_section_is_marked(text, expected):
    assert headings(text) == expected


@given(
    st.lists(
        st.sampled_from(
            ["# H", "Text is", "here. And", "  - item", "    x = 1", "", "===", "| a |", "```", "\f", "1. b"]
        )
    )
)
def test_a_sentence_is_found_again_in_its_lines_with_white_space_folded(lines):
    for one in sentences("\n".join(lines)):
        assert isinstance(one, Sentence)
        assert 1 <= one.first <= one.last <= len(lines)
        assert one.text in " ".join(" ".join(lines[one.first - 1 : one.last]).split())


@given(st.text())
def test_no_text_is_too_odd_for_sentences_and_numbers(text):
    folded = " ".join(text.split())
    assert all(one.text in folded for one in sentences(text))
    assert all(unicodedata.normalize("NFKC", one) == one for one in numbers(text))
