import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.protocols import ToolError
from graph_agent.tools.doctext import DocText, doc_text, superseded_in, title_of

PAGE = """<!doctype html><html><head><title>Guide &amp; more</title><style>p { color: red }</style></head>
<body><nav><ul><li><a href="/">Home</a></li></ul></nav>
<h1>Limits<a class="headerlink" href="#limits">\u00b6</a></h1>
<p>A run takes at most
<b>25</b> turns.<br>Then it stops &lt;here&gt;.<p>Unclosed paragraph
<ul><li><p>one</p></li><li>two <i>words</i></ul>
<table><tr><th>Name</th><th>Value</th></tr><tr><td>max</td><td>25</td></tr></table>
<pre>x = 1
  y = 2</pre><dl><dt>root</dt><dd>The superuser.</dd></dl>
<script>var hidden = 1 < 2;</script><footer>Imprint</footer></body></html>"""


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Grüße\n\tx  y\n\n".encode(), DocText("Grüße\n\tx  y\n\n")),
        (codecs.BOM_UTF8 + b"a\r\nb\rc", DocText("a\nb\nc")),
        (codecs.BOM_UTF16_LE + "Grüße".encode("utf-16-le"), DocText("Grüße", "utf-16-le")),
        (codecs.BOM_UTF16_BE + "Grüße".encode("utf-16-be"), DocText("Grüße", "utf-16-be")),
        ("Grüße".encode("latin-1"), DocText("Grüße", "latin-1", guessed=True)),
        (b"", DocText("")),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.rst", "a.txt", "README"])
def test_text_keeps_its_lines_and_an_encoding_that_was_guessed_is_named(raw, expected, name):
    assert doc_text(raw, name) == expected


@pytest.mark.parametrize("raw", [b"\x89PNG\r\n\x1a\n\0\0\0", b"\x7fELF\x02\x01\x01\0", bytes(range(256)), b"a\0b"])
def test_what_is_no_text_is_refused(raw):
    with pytest.raises(ToolError) as caught:
        doc_text(raw, "picture.txt")
    assert caught.value.kind == "binary"
    assert "'picture.txt'" in str(caught.value)


def test_a_page_becomes_a_text_without_what_is_not_its_own():
    assert doc_text(PAGE.encode(), "guide.HTML").text == (
        "# Limits\n\nA run takes at most 25 turns.\nThen it stops <here>.\n\nUnclosed paragraph\n\n"
        "- one\n- two words\n\n| Name | Value |\n| --- |\n| max | 25 |\n\n```\nx = 1\n  y = 2\n```\n\n"
        "###### root\n\nThe superuser.\n"
    )


def test_the_title_of_a_page_stands_in_for_a_heading():
    assert doc_text(b"<title>A  page</title><p>Text.", "a.htm").text == "# A page\n\nText.\n"


@given(st.text("<>/p liab&;#\"'=!-\n", max_size=80))
def test_no_page_is_too_broken(page):
    assert "\0" not in doc_text(page.encode(), "a.html").text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A title\n\nText.", "A title"),
        ("HEP: 7\nTitle: A wire format\n\nText.", "A wire format"),
        ("---\ntitle: 'Quoted'\n---\nText.", "Quoted"),
        ("Text first. And more.\n\nPart\n----\n", "Part"),
        ("text only, in lower case, over\ntwo lines.", "text only, in lower case, over two lines."),
        ("第一章 总则\n\n内容在这里。", "第一章 总则"),
        ("\n\n", ""),
    ],
)
def test_the_title(text, expected):
    assert title_of(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Status: Superseded",
        "Obsoleted by: 7230",
        "Superseded-By: 8",
        "**Superseded** by backups.md in March 2023.",
        "> Superseded by x",
        "DEPRECATED",
        "This document was replaced by guide-2.md.",
        "This version has been withdrawn.",
        "This policy is no longer in force.",
        "本文档已被 v2 取代。",
        "状态：已废止",
        "Dieses Dokument wurde durch v2 ersetzt.",
        "Status: veraltet",
    ],
)
def test_a_document_that_says_it_no_longer_holds(line):
    assert superseded_in(f"# Rules\n\n{line}\n\nText.\n") == line


@pytest.mark.parametrize(
    "line",
    [
        "Obsoletes: 2068",
        "These rules supersede the rules of 2019.",
        "This page has not been superseded.",
        "Tokens are replaced by spaces.",
        "Deprecated since version 3.3: use x.",
        "The file is replaced when the run ends.",
        "Dieses Dokument ist nicht veraltet.",
    ],
)
def test_what_says_something_else(line):
    assert superseded_in(f"# Rules\n\n{line}\n\nText.\n") == ""


def test_only_the_head_of_a_document_speaks_of_it_and_a_sentence_may_be_wrapped():
    assert superseded_in("# Rules\n" + "\n" * 14 + "This document was superseded by x.\n") == ""
    assert superseded_in("# Rules\n\nThis document was\nsuperseded by x.") == "superseded by x."
    assert superseded_in("# Rules\n\nThis document has\nbeen withdrawn.") == "This document has been withdrawn."
