import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.tools.ranking import Ranking

TEXTS = ("Backups are kept for 35 days.", "Logs are kept for a year.", "A worker runs eight jobs.", "备份保存35天。")


def test_the_text_that_has_the_rarer_words_is_best():
    ranking = Ranking(TEXTS)
    assert [position for position, _ in ranking.best("How long is a backup kept?", 9)] == [0, 1]
    assert ranking.best("备份保存多久？", 1)[0][0] == 3
    assert ranking.best("nothing of the sort", 9) == ranking.best("", 9) == Ranking([]).best("backup", 3) == []


def test_of_equal_texts_the_earlier_comes_first_and_no_more_than_asked_for():
    assert [position for position, _ in Ranking(["same text"] * 5).best("text", 3)] == [0, 1, 2]


def test_a_score_is_what_the_formula_says():
    # one text of 2 terms, one of 4 (average 3); "cat" is in both, once and twice
    scores = dict(Ranking(["cat dog", "cat cat cow pig"]).best("cat", 2))
    idf = 0.1823215567939546  # ln(1 + 0.5 / 2.5)
    assert scores[0] == pytest.approx(idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)))
    assert scores[1] == pytest.approx(idf * 4.4 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3)))


def test_a_term_in_no_text_weighs_most():
    ranking = Ranking(TEXTS)
    assert ranking.weight("zebra") > ranking.weight("worker") > ranking.weight("keep") > 0


def test_coverage_is_the_share_of_the_weight():
    ranking = Ranking(TEXTS)
    assert ranking.coverage("worker jobs", "The jobs of a worker") == 1
    assert ranking.coverage("worker zebra", "no such thing") == ranking.coverage("what is it", "it is") == 0
    assert 0 < ranking.coverage("worker zebra", "a worker") < 0.5


@given(st.lists(st.text("abc ", max_size=12), max_size=8), st.text("abc ", max_size=8))
def test_only_texts_with_a_word_of_the_query_are_found_best_first(texts, query):
    found = Ranking(texts).best(query, 99)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert all(score > 0 and set(texts[position].split()) & set(query.split()) for position, score in found)
    assert found == Ranking(texts).best(query, 99)
