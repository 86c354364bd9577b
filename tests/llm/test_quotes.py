from pydoc_data.topics import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.llm.quotes import Passage, Quotes, best_quotes
from graph_agent.tools.doctext import title_of
from graph_agent.tools.passages import passages
from graph_agent.tools.ranking import Ranking

HANDBOOK = {
    "backups.md": """# Backup policy

Harbour takes a full backup of every database each night at 02:00 UTC.
Backups are retained for 35 days and are then removed by the cleaner.

## Restoring

A restore must be approved by the duty engineer. It usually takes about
20 minutes for a database of 50 GB.

## Encryption

The keys rotate every 90 days and are stored in the vault.
""",
    "scheduler.rst": """The scheduler
=============

The scheduler starts a job as soon as all of its parents have finished. A job
that fails is retried at most 5 times.

Limits
------

A worker runs up to 8 jobs at once.

==============  =========
Setting         Default
==============  =========
max_runtime     6 hours
queue_size      10,000
==============  =========
""",
    "operations.txt": """OPERATIONS HANDBOOK

1.  Workers

   A worker that sends no heartbeat for 45 seconds is declared dead.

2.  Deployments

   Releases go out on Tuesdays.  The release manager, Ines Okafor, decides
   whether a release is held back.
""",
    "zh.md": "# 运行说明\n\n每次运行最多执行 40 步。日志保存 60 天，之后自动删除。\n\n只有管理员可以修改配置。\n",
    "de.md": "# Betriebshandbuch\n\nProtokolle werden 60 Tage aufbewahrt und danach gelöscht.\n",
}
TOPICS = {f"{name}.txt": text for name, text in topics.items()}


def cut(texts, superseded=()):
    return [
        Passage(
            id=f"{source}:{one.first}",
            source=source,
            text=one.text,
            superseded=source in superseded,
            heading=f"{title_of(text)}\n{one.heading}",
        )
        for source, text in texts.items()
        for one in passages(text)
    ]


POOLS = {"handbook": cut(HANDBOOK), "topics": cut(TOPICS)}
RANKED = {name: Ranking([f"{one.heading}\n{one.text}" for one in pool]) for name, pool in POOLS.items()}


def answered(question, pool="handbook"):
    return best_quotes(question, [POOLS[pool][at] for at, _ in RANKED[pool].best(question, 6)])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long are backups retained?", "35 days"),
        ("How long do we keep backups?", "35 days"),
        ("Who must approve a restore?", "duty engineer"),
        ("How long does a restore take?", "20 minutes"),
        ("How often do the keys rotate?", "90 days"),
        ("How many times is a failed job retried?", "5 times"),
        ("How many jobs does a worker run at once?", "up to 8 jobs"),
        ("When does the scheduler start a job?", "parents have finished"),
        ("What is the default of queue_size?", "10,000"),
        ("Who decides whether a release is held back?", "Ines Okafor"),
        ("On which day do releases go out?", "Tuesdays"),
        ("每次运行最多执行多少步？", "40 步"),
        ("日志保存多久？", "60 天"),
        ("谁可以修改配置？", "管理员"),
        ("Wie lange werden Protokolle aufbewahrt?", "60 Tage"),
    ],
)
def test_a_question_that_the_text_answers(question, expected):
    result = answered(question)
    assert expected in result.found[0].text
    assert result.covered >= 0.7


@pytest.mark.parametrize(
    "question",
    [
        "How much does a backup cost?",
        "How many workers does Harbour have?",
        "What is the maximum size of a database?",
        "How many queues may a customer create?",
        "What is the phone number of the release manager?",
        "Who wrote the scheduler?",
        "When was Harbour founded?",
        "Which port does a worker listen on?",
        "Which programming language is the scheduler written in?",
        "What is the password of the vault?",
        "How long are incident reports kept?",
        "管理员有多少人？",
        "备份保存在哪个城市？",
        "Wie viele Server hat das Rechenzentrum?",
    ],
)
def test_a_question_near_the_subject_that_the_text_does_not_answer_gets_nothing(question):
    result = answered(question)
    assert (result.found, result.covered, result.conflicts) == ((), 0.0, ())
    assert result.missing


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When is the value of __debug__ determined?", "when the interpreter starts"),
        ("How is a right shift by n bits defined?", "floor division"),
        ("What does the pass statement do?", "null operation"),
        ("In which order do dictionaries preserve keys?", "insertion order"),
        ("What does the nonlocal statement cause?", "previously bound variables"),
        ("Are tuples immutable?", "immutable"),
        ("What are lambda expressions used for?", "anonymous functions"),
    ],
)
def test_a_question_that_pythons_own_reference_answers(question, expected):
    assert any(expected in quote.text for quote in answered(question, "topics").found)


@pytest.mark.parametrize(
    "question",
    [
        "How many threads may run the interpreter at once?",
        "Who invented the with statement?",
        "When will Python 4 be released?",
        "What is the price of a Python licence?",
        "How do I install a package with pip?",
        "What does numpy.reshape return?",
        "What does the goto statement do?",
        "How do I connect to a PostgreSQL database?",
        "Which regular expression matches an email address?",
        "How many bytes are written by json.dump?",
    ],
)
def test_a_question_that_pythons_own_reference_does_not_answer_gets_nothing(question):
    assert answered(question, "topics").found == ()


def test_a_quote_is_word_for_word_and_names_its_passage():
    quote = answered("Who must approve a restore?").found[0]
    passage = next(one for one in POOLS["handbook"] if one.id == quote.id)
    assert quote.text in " ".join(passage.text.split())
    assert quote.source == passage.source == "backups.md"


def test_a_sentence_that_leans_back_is_quoted_with_the_one_before():
    [quote, *_] = answered("How long does a restore take?").found
    assert quote.text.startswith("A restore must be approved")
    assert quote.text.endswith("a database of 50 GB.")


def test_a_lead_in_is_quoted_with_its_items():
    text = (
        "A release is blocked by any of these:\n\n- a failing test\n- a missing review\n\nNothing else is said here.\n"
    )
    [quote, *_] = best_quotes("What blocks a release?", cut({"a.md": text})).found
    assert quote.text == "A release is blocked by any of these: - a failing test - a missing review"


def test_a_heading_or_a_question_is_never_quoted():
    text = (
        "# Backups are retained for 35 days\n\nHow long are backups retained?\n\nThis is another matter altogether.\n"
    )
    assert best_quotes("How long are backups retained?", cut({"a.md": text})).found == ()


def test_a_quote_says_more_than_the_question():
    assert best_quotes("What is the vault?", cut({"a.md": "- The vault.\n- Another thing is here.\n"})).found == ()


CURRENT = "# Backups\n\nBackups are retained for 35 days.\n"
OLD = "# Backups\n\nBackups are retained for 14 days.\n"


def test_two_sources_that_disagree_are_both_quoted_and_named():
    result = best_quotes("How long are backups retained?", cut({"a.md": CURRENT, "b.md": OLD}))
    assert [quote.source for quote in result.found] == ["a.md", "b.md"]
    [conflict] = result.conflicts
    assert (conflict.first, conflict.second) == result.found
    assert conflict.why == "a.md says 35, b.md says 14"


@pytest.mark.parametrize(
    "other",
    [
        "# Backups\n\nBackups are retained for 35 days.\n",
        "# Backups\n\nThe 12 databases of the harbour are served by 3 machines.\n",
    ],
)
def test_no_conflict_where_the_numbers_agree_or_count_something_else(other):
    assert best_quotes("How long are backups retained?", cut({"a.md": CURRENT, "b.md": other})).conflicts == ()


def test_a_superseded_passage_comes_last_and_only_where_it_says_otherwise_or_stands_alone():
    question = "How long are backups retained?"
    beside = best_quotes(question, cut({"old.md": OLD, "new.md": CURRENT}, {"old.md"}))
    assert [quote.source for quote in beside.found] == ["new.md", "old.md"]
    assert beside.conflicts[0].why == "new.md says 35, old.md says 14 and was superseded"
    same = best_quotes(question, cut({"old.md": CURRENT, "new.md": CURRENT}, {"old.md"}))
    assert [quote.source for quote in same.found] == ["new.md"]
    alone = best_quotes(question, cut({"old.md": OLD}, {"old.md"}))
    assert [quote.source for quote in alone.found] == ["old.md"]


def test_what_no_quote_covers_is_named_as_the_question_writes_it():
    result = best_quotes("How long are nightly backups retained in Zurich?", cut({"a.md": CURRENT}))
    assert result == Quotes(missing=("nightly", "backups", "retained", "Zurich"))


@pytest.mark.parametrize("question", ["", "What is it?", "?!"])
def test_a_question_without_content_gets_nothing(question):
    assert answered(question) == Quotes() == best_quotes(question, [])


def test_no_more_quotes_than_asked_for():
    assert len(best_quotes("backups", POOLS["handbook"], most=1).found) == 1
    assert best_quotes("backups", POOLS["handbook"], most=0).found == ()


@given(st.text(max_size=60), st.lists(st.text(max_size=120), max_size=4))
def test_whatever_is_quoted_stands_in_its_passage(question, texts):
    given_passages = [Passage(id=str(n), source=f"{n}.md", text=text) for n, text in enumerate(texts)]
    for quote in best_quotes(question, given_passages).found:
        assert quote.text in " ".join(texts[int(quote.id)].split())
