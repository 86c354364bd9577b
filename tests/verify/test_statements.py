"""What a written result says: its statements as real models write them, each with its quotes and citations."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.verify.citations import marks
from graph_agent.verify.statements import EXAMPLES, Statement, own_words, quotes_of, statements


def found(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.text, one.cites) for one in statements(text)]


@pytest.mark.parametrize(("text", "said"), EXAMPLES, ids=[text[:30] for text, _ in EXAMPLES])
def test_the_rule_in_examples_holds(text: str, said: object) -> None:
    assert tuple((one.text, one.quotes, one.cites) for one in statements(text)) == said


WRITTEN: list[tuple[str, list[tuple[str, tuple[str, ...]]]]] = [
    # lists
    ("1. First [E1]\n2. Second [E2]\n3) Third [E3]", [("First", ("E1",)), ("Second", ("E2",)), ("Third", ("E3",))]),
    ("* a\n  goes on [E1]\n* b [E2]", [("a goes on", ("E1",)), ("b", ("E2",))]),
    ("- top:\n  - inner [E1]\n- [x] done [E2]", [("inner", ("E1",)), ("done", ("E2",))]),
    ("1. One [E1]\n   - inner [E2]\n2. Two [E3]", [("One", ("E1",)), ("inner", ("E2",)), ("Two", ("E3",))]),
    ("\u2022 a [E1]\n\u2022 b", [("a", ("E1",)), ("b", ())]),
    # a wrapped line that begins like an item
    ("The limit is\n25. It was 20 [E1].", [("The limit is 25.", ()), ("It was 20.", ("E1",))]),
    ("- The limit is\n  25. [E1]", [("The limit is 25.", ("E1",))]),
    # bold and headings
    ("**The limit** is 25 [E1].", [("**The limit** is 25.", ("E1",))]),
    ("**Limits**\n\n25 steps [E1].", [("25 steps.", ("E1",))]),
    ("**Limits:**\n- 25 steps [E1]", [("25 steps", ("E1",))]),
    ("**The limit is 25.**", [("**The limit is 25.**", ())]),
    ("Limits\n======\n\n25 steps [E1].", [("25 steps.", ("E1",))]),
    ("# Limits\n25 steps [E1].\n---\nThe end [E2].", [("25 steps.", ("E1",)), ("The end.", ("E2",))]),
    ("Say it.\n---\nMore [E1].", [("Say it.", ()), ("More.", ("E1",))]),
    ("## The limit is 25 [E1]\nMore [E2].", [("## The limit is 25", ("E1",)), ("More.", ("E2",))]),
    ("## The limit is 25.", [("## The limit is 25.", ())]),
    ("#5 is open [E1].", [("#5 is open.", ("E1",))]),
    # tables
    (
        "| what | days |\n|:--|--:|\n| runs | 30 [E1] |\n| logs | 7 |",
        [("| runs | 30 |", ("E1",)), ("| logs | 7 |", ())],
    ),
    (
        "The table:\n\n| a | b |\n|---|---|\n| c | d [E1] |\n\nThe end [E2].",
        [("| c | d |", ("E1",)), ("The end.", ("E2",))],
    ),
    # marks after full stops, alone, ahead
    ("The limit is 25.[E1] It was 20.[E2]", [("The limit is 25.", ("E1",)), ("It was 20.", ("E2",))]),
    ("It is 25 [E1][E2]. It was 20 [E3].", [("It is 25.", ("E1", "E2")), ("It was 20.", ("E3",))]),
    ("It is 25 [E1].It was 20 [E2].", [("It is 25.", ("E1",)), ("It was 20.", ("E2",))]),
    ("The limit is 25.\n[E1]", [("The limit is 25.", ("E1",))]),
    ("The limit is 25.\n\n[E1]", [("The limit is 25.", ("E1",))]),
    ("[E1] The limit is 25.", [("The limit is 25.", ("E1",))]),
    ("[E1]\n\nThe limit is 25.", [("The limit is 25.", ("E1",))]),
    ("[E1] says 25, but [E2] says 20.", [("says 25, but says 20.", ("E1", "E2"))]),
    # the ends of sentences
    ("The U.S. limit is 5 p.m. sharp [E1].", [("The U.S. limit is 5 p.m. sharp.", ("E1",))]),
    (
        "See Fig. 3, p. 4 and Sec. 6 of J. Hill et al. in full [E1].",
        [("See Fig. 3, p. 4 and Sec. 6 of J. Hill et al. in full.", ("E1",))],
    ),
    (
        "It takes approx. 30 s, e.g. here, i.e. now, vs. 40 s [E1].",
        [("It takes approx. 30 s, e.g. here, i.e. now, vs. 40 s.", ("E1",))],
    ),
    ("Python 3.11 is v. 3.11.9 [E1].", [("Python 3.11 is v. 3.11.9.", ("E1",))]),
    ("It is never sent. pytest sends it [E1].", [("It is never sent.", ()), ("pytest sends it.", ("E1",))]),
    ("It is sent twice. 3 are lost [E1].", [("It is sent twice.", ()), ("3 are lost.", ("E1",))]),
    ("It is sent! (Twice.) Then not [E1].", [("It is sent!", ()), ("(Twice.)", ()), ("Then not.", ("E1",))]),
    ("**It is sent.** Then not [E1].", [("**It is sent.**", ()), ("Then not.", ("E1",))]),
    # other scripts
    (
        "\u4e0a\u9650\u662f25\u6b65\uff01\u4ee5\u524d\u662f20\u6b65\u3002[E1][E2]",
        [("\u4e0a\u9650\u662f25\u6b65\uff01", ()), ("\u4ee5\u524d\u662f20\u6b65\u3002", ("E1", "E2"))],
    ),
    ("\u4e0a\u9650\u5982\u4e0b\uff1a\n- 25\u6b65 [E1]", [("25\u6b65", ("E1",))]),
    ("\u00c9tat final. \u00c9t\u00e9 [E1].", [("\u00c9tat final.", ()), ("\u00c9t\u00e9.", ("E1",))]),
    # what is none
    ("How long are runs kept? For 30 days [E1].", [("For 30 days.", ("E1",))]),
    ("Is the limit not 25 steps a day?", [("Is the limit not 25 steps a day?", ())]),
    ("In short:\n\nThe limit, which is 25 steps a day:", [("The limit, which is 25 steps a day:", ())]),
    ("", []),
    ("---\n\n***\n\n...", []),
    # code
    ("Run\n`make test`\nto check it [E1].", [("Run `make test` to check it.", ("E1",))]),
    ("```\nx = row[E1]. Yes.\n```\nIt is so [E2].", [("It is so.", ("E2",))]),
    ("Call `a. B` now [E1].", [("Call `a. B` now.", ("E1",))]),
    (
        "A stray ` here [E1].\n\nNot cited.\n\nAnother ` there [E2].",
        [("A stray ` here.", ("E1",)), ("Not cited.", ()), ("Another ` there.", ("E2",))],
    ),
    ("One\r\ngoes on [E1].\r\n\r\nTwo [E2].\r\n", [("One goes on.", ("E1",)), ("Two.", ("E2",))]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRITTEN, ids=[text[:40] for text, _ in WRITTEN])
def test_what_real_models_write_is_cut_into_statements(text: str, said: object) -> None:
    assert found(text) == said


QUOTED: list[tuple[str, tuple[str, ...]]] = [
    ('It says "at most 25".', ("at most 25",)),
    ("It says \u201cat most 25\u201d and \u201enie mehr\u201c.", ("at most 25", "nie mehr")),
    ("\u00abau plus 25\u00bb, \u00bbh\u00f6chstens 25\u00ab, \uff02x\uff02", ("au plus 25", "h\u00f6chstens 25", "x")),
    (
        "\u6587\u4ef6\u8bf4\u300c\u5916\u300e\u5185\u300f\u5916\u300d\u548c\u201c\u6700\u591a\u201d",
        ("\u5916\u300e\u5185\u300f\u5916", "\u6700\u591a"),
    ),
    ('\u6587\u4ef6\u8bf4"\u6700\u591a"', ("\u6700\u591a",)),
    ("She said \"he said 'no' twice\".", ("he said 'no' twice",)),
    ('A 5" pipe fits a 6" pipe.', ()),
    ('A 5" pipe is "narrow".', ("narrow",)),
    ('`print("no quote")` prints "this".', ("this",)),
    ("It's the users' own.", ()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "quotes"), QUOTED)
def test_quotes_are_what_stands_in_double_marks_of_any_kind(text: str, quotes: tuple[str, ...]) -> None:
    assert quotes_of(text) == quotes


def only(text: str) -> Statement:
    (one,) = statements(text)
    return one


@pytest.mark.parametrize(
    "text",
    [
        "> Runs are kept. Then they go. [E1]",
        "> Runs are kept.\n> Then they go. [E1]",
        ">Runs are kept. Then they go.\n\n[E1]",
        '> "Runs are kept. Then they go." [E1]',
        "Text [E2]. It says:\n> Runs are kept. Then they go. [E1]",
    ],
)
def test_a_block_quote_is_one_quote_word_for_word(text: str) -> None:
    last = statements(text)[-1]
    assert (last.quotes, last.cites) == (("Runs are kept. Then they go.",), ("E1",))


def test_each_block_quote_ends_with_its_marks() -> None:
    assert found("> one [E1]\n> two [E2]\n>\n> three [E3]") == [("one", ("E1",)), ("two", ("E2",)), ("three", ("E3",))]


def test_a_block_quote_that_is_put_elsewhere_is_still_a_quote() -> None:
    one = only("> Runs are kept\n> for 30 days. [E1]")
    assert one.written == "> Runs are kept for 30 days. [E1]"
    assert only(one.written) == one


def test_a_stop_in_a_quote_ends_no_sentence_but_at_its_end() -> None:
    assert found('It says "No. Never. Ever" to all [E1].') == [('It says "No. Never. Ever" to all.', ("E1",))]
    assert found('It says "Never." Then it ends [E1].') == [('It says "Never."', ()), ("Then it ends.", ("E1",))]


def test_a_malformed_mark_stays_with_its_statement() -> None:
    first, second = statements("It is 25 [E1, p. 3]. It was 20 [E2] (E3).")
    assert (first.malformed, first.cites) == (("[E1, p. 3]",), ())
    assert (second.malformed, second.cites) == (("(E3)",), ("E2",))


def test_what_looks_like_a_mark_in_a_quote_belongs_to_the_source() -> None:
    assert only('The line is "leased (E3) or not" [E1].').malformed == ()
    assert only('The line is "leased (E3) or not".').malformed == ("(E3)",)


def test_own_words_are_those_that_are_neither_quoted_nor_code() -> None:
    assert own_words('He says "TBD" and `x`.\n> quoted\nend').split() == ["He", "says", "and", ".", "end"]


WORDS = ["limit", "runs", "kept", "thirty", "never", "\u4e0a\u9650", '"at most"', "`x`"]
SENTENCES = st.builds(
    lambda words, stop, cited: " ".join(words).capitalize() + stop + "".join(f" [E{n}]" for n in cited),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=6),
    st.sampled_from([".", "!"]),
    st.lists(st.integers(1, 40), max_size=2),
)  # fmt: skip


@given(st.lists(SENTENCES, min_size=1, max_size=6), st.sampled_from([" ", "\n", "\n\n", "\n- "]))
def test_sentences_are_the_same_however_they_are_laid_out(some: list[str], between: str) -> None:
    assert [one.written for one in statements(between.join(some))] == some


@given(st.lists(SENTENCES, min_size=1, max_size=6), st.sampled_from(["", "> ", "- ", "1. ", "| "]))
def test_what_is_written_says_the_same_by_itself(some: list[str], begins: str) -> None:
    for one in statements("\n\n".join(f"{begins}{sentence}" for sentence in some)):
        assert statements(one.written) == (one,)


PIECES = [
    "> ", "- ", "# ", "| ", "\n", "\n\n", "[E1]", "word", ". ", '"', "```", "`", "**", "1. ", "\u3002", ": ", "? ",
]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
def test_any_text_is_read_and_no_word_of_a_statement_is_made_up(text: str) -> None:
    for one in statements(text):
        assert any(char.isalnum() or char == "_" for char in one.text)
        assert set(one.text) <= {*text, " "}
        assert one.cites == marks(one.written).ids


@pytest.mark.parametrize(
    "piece", ["> a\n", "- a\n", "a. ", '"a" ', "| a |\n", "` `` ", "1. ", "\u300ca", "\u201c", "\u3002[", "_ "]
)
def test_a_long_text_of_any_kind_is_read_in_bounded_time(piece: str) -> None:
    begun = time.perf_counter()
    statements(piece * (20_000 // len(piece)))
    assert time.perf_counter() - begun < 10


def test_real_prose_is_read_and_each_of_its_statements_says_the_same_by_itself() -> None:
    from pydoc_data.topics import topics

    found = [one for name in sorted(topics)[::9] for one in statements(topics[name])]
    assert len(found) > 200
    for one in found:
        assert statements(one.written) == (one,)
