import os
import re
import threading
from pydoc_data.topics import topics
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.protocols import GraphAgentError
from graph_agent.tools.documents import Documents, DocumentsError
from graph_agent.tools.passages import MOST_CHARACTERS, MOST_LINES, passages
from graph_agent.tools.sourced import Sourced

BACKUPS = """# Backup policy

Every database is saved each night.
Backups are retained for 35 days.

## Encryption

All backups are encrypted with AES-256.
The keys rotate every 90 days.
"""
FILES = {
    "backups.md": BACKUPS,
    "old/backups.md": "# Backup rules\n\n> Superseded by backups.md.\n\nBackups are retained for 14 days.\n",
    "workers.rst": "Workers\n=======\n\nA worker runs up to 8 jobs at once.\nIt sends a heartbeat.\n",
    "zh.txt": "运行说明\n\n日志保存60天，之后自动删除。\n",
    "page.html": "<h1>Access</h1><p>A token is valid for 24 hours.",
    "README": "Read me first. Nothing else is here.\n",
}


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "docs"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="")
    return root


def call(documents, tool, **arguments):
    return documents.toolbox().call(tool, **arguments)


def found(documents, query, **more):
    return call(documents, "search_documents", query=query, **more).value


def refused(documents, tool, **arguments):
    error = call(documents, tool, **arguments).error
    return error.kind, str(error)


def test_the_tools_read_and_say_so(folder):
    specs = Documents(folder).toolbox().specs()
    assert [(tool.name, tool.effect) for tool in specs] == [
        ("list_documents", "read"),
        ("search_documents", "read"),
        ("read_document", "read"),
    ]
    assert specs[1].schema["required"] == ["query"]


def test_documents_are_listed_by_path_with_title_and_who_was_superseded(folder):
    listed = call(Documents(folder), "list_documents").value
    assert listed.text.split("\n") == [
        "README (1 line): Read me first.",
        "backups.md (9 lines): Backup policy",
        "old/backups.md (5 lines): Backup rules [superseded: > Superseded by backups.md.]",
        "page.html (3 lines): Access",
        "workers.rst (5 lines): Workers",
        "zh.txt (3 lines): 运行说明",
    ]
    assert listed.summary == "6 documents."


def test_a_passage_is_shown_below_its_place_and_heading(folder):
    result = found(Documents(folder), "How often do the keys rotate?")
    assert result == Sourced(
        text="backups.md:6-9 (Encryption)\n## Encryption\n\nAll backups are encrypted with AES-256.\n"
        "The keys rotate every 90 days.",
        source="backups.md",
        span="6-9",
        version=result.version,
        summary="1 passage from backups.md.",
    )
    assert re.fullmatch("[0-9a-f]{64}", result.version)


def test_several_documents_have_a_say_and_the_superseded_one_comes_last_and_is_named(folder):
    result = found(Documents(folder), "How long are backups retained?")
    places = re.findall(r"^(\S+):\d+-\d+ \(.+\)$", result.text, re.MULTILINE)
    assert places[0] == "backups.md"
    assert places[-1] == "old/backups.md"
    assert result.source == result.span == result.version == ""
    assert result.text.startswith(
        "backups.md:1-4 (Backup policy)\nbackups.md:6-9 (Encryption)\nold/backups.md:1-5 (Backup rules)\n\n"
    )
    assert result.caveat == "old/backups.md was superseded: > Superseded by backups.md."


def test_a_passage_is_found_by_the_heading_that_it_stands_under(tmp_path):
    (tmp_path / "a.md").write_text("# Rotation of keys\n\nIt is done every 90 days.\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# Meals\n\nThey are served every day.\n", encoding="utf-8")
    assert found(Documents(tmp_path), "key rotation").source == "a.md"


@pytest.mark.parametrize("query", ["zebra crossing", "who is it and what was that", "", "?!", "斑马线"])
def test_nothing_is_found_where_no_content_word_occurs(folder, query):
    result = found(Documents(folder), query)
    assert result == Sourced(text="", summary="No passage has any of these words.")


def test_limit_bounds_the_passages(folder):
    assert found(Documents(folder), "backups", limit=1).summary == "1 passage from backups.md."
    assert found(Documents(folder), "backups", limit=2).summary.startswith("2 passages from")
    assert refused(Documents(folder), "search_documents", query="backups", limit=0)[0] == "bad_arguments"


def test_words_of_any_language_are_found(folder):
    assert found(Documents(folder), "日志保存多久？").source == "zh.txt"


def test_lines_are_those_of_the_file(folder):
    result = call(Documents(folder), "read_document", path="./backups.md", start=3, end=4).value
    assert result.text == "Every database is saved each night.\nBackups are retained for 35 days."
    assert (result.place, result.summary) == ("backups.md:3-4", "backups.md has 9 lines.")
    rest = call(Documents(folder), "read_document", path="backups.md", start=9, end=99).value
    assert (rest.text, rest.span) == ("The keys rotate every 90 days.", "9-9")
    past = call(Documents(folder), "read_document", path="backups.md", start=10, end=12).value
    assert (past.text, past.span, past.summary) == ("", "", "backups.md has 9 lines.")


def test_no_more_than_400_lines_are_read_at_once_and_that_is_said(tmp_path):
    (tmp_path / "long.txt").write_text("\n".join(f"line {n}" for n in range(1, 1001)), encoding="utf-8")
    result = call(Documents(tmp_path), "read_document", path="long.txt", start=11, end=1000).value
    assert (result.span, result.text.count("\n")) == ("11-410", 399)
    assert "only lines 11-410 are shown" in result.summary


def test_an_unknown_path_and_odd_lines_are_refused(folder):
    kind, message = refused(Documents(folder), "read_document", path="backup.md", start=1, end=2)
    assert kind == "not_found"
    assert "did you mean 'backups.md'" in message
    assert refused(Documents(folder), "read_document", path="../etc/passwd", start=1, end=2)[0] == "not_found"
    for start, end in ((0, 3), (3, 2), (-1, -1)):
        assert refused(Documents(folder), "read_document", path="README", start=start, end=end)[0] == "bad_arguments"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_that_leads_out_is_not_followed_and_said(folder, tmp_path):
    (tmp_path / "secret.md").write_text("The secret is 42.\n", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "more.md").write_text("The secret is 43.\n", encoding="utf-8")
    (folder / "leak.md").symlink_to(tmp_path / "secret.md")
    (folder / "inside.md").symlink_to(folder / "backups.md")
    (folder / "folder").symlink_to(tmp_path / "outside")
    documents = Documents(folder)
    assert found(documents, "secret").text == ""
    assert [document.path for document in documents] == sorted(FILES)
    assert documents.left_out == (
        "folder is a link that leads out of the folder.",
        "leak.md is a link that leads out of the folder.",
    )
    assert "2 files were left out: folder is a link" in call(documents, "list_documents").value.summary


def test_what_is_hidden_no_text_too_large_or_too_much_is_left_out(folder):
    (folder / ".git").mkdir()
    (folder / ".git" / "notes.md").write_text("Hidden.", encoding="utf-8")
    (folder / ".hidden.md").write_text("Hidden.", encoding="utf-8")
    (folder / "code.py").write_text("x = 1", encoding="utf-8")
    (folder / "program").write_bytes(b"\x7fELF\0\0\0")
    (folder / "picture.txt").write_bytes(b"\x89PNG\0\0\0")
    (folder / "large.txt").write_text("x" * 1001, encoding="utf-8")
    (folder / "latin.txt").write_bytes("Grüße an alle.".encode("latin-1"))
    documents = Documents(folder, most_bytes=1000)
    assert {document.path for document in documents} == {*FILES, "latin.txt"}
    assert documents.left_out == (
        "'large.txt' is larger than 1000 bytes.",
        "latin.txt is no UTF-8 and was read as Latin-1.",
        "'picture.txt' is no text.",
    )
    few = Documents(folder, most_files=2)
    assert [document.path for document in few] == ["README", "backups.md"]
    assert few.left_out[0] == "large.txt is beyond the 2 documents that are read."


@pytest.mark.parametrize("made", [None, "file", "empty", "other"])
def test_a_folder_without_documents_is_an_error_that_says_so(tmp_path, made):
    root = tmp_path / "docs"
    if made == "file":
        root.write_text("Text.", encoding="utf-8")
    elif made:
        root.mkdir()
    if made == "other":
        (root / "a.py").write_text("x = 1", encoding="utf-8")
        (root / "a.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(DocumentsError) as caught:
        Documents(root)
    assert isinstance(caught.value, GraphAgentError)
    assert "'docs'" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_eighty_topics_are_indexed_once_and_searched_in_well_under_a_second(tmp_path):
    for name, text in topics.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    documents = Documents(tmp_path)
    answers = []
    start = perf_counter()
    threads = [
        threading.Thread(target=lambda: answers.append(found(documents, "When is the value of __debug__ determined?")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert perf_counter() - start < 5  # about 0.4 s; a slow machine has its time
    assert len(set(answers)) == 1
    assert "The value for the built-in\nvariable is determined when the interpreter starts." in answers[0].text


@given(
    st.lists(
        st.sampled_from(
            [
                "",
                "# H",
                "Some text here.",
                "And more of it. " * 60,
                "- an item",
                "    x = 1",
                "中文。" * 300,
                "word" * 400,
            ]
        )
    )
)
def test_passages_are_whole_lines_of_the_text_and_never_too_long(lines):
    text = "\n".join(lines)
    cut = passages(text)
    for one in cut:
        assert one.text in "\n".join(lines[one.first - 1 : one.last])
        assert len(one.text) <= MOST_CHARACTERS
        assert one.last - one.first < MOST_LINES
    assert "".join("".join(one.text.split()) for one in cut).count("Andmoreofit.") >= text.count("And more of it.")


def test_what_is_longer_than_a_passage_goes_on_where_a_sentence_begins():
    lines = [
        f"This is the long line number {n}, and it" if n % 3 else f"ends in line {n}. Here is" for n in range(1, 30)
    ]
    cut = passages("\n".join(lines))
    assert len(cut) > 2
    assert all(". Here is" in one.text.split("\n")[0] for one in cut[1:])
