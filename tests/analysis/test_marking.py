"""Which systems are not told apart from the best."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.analysis.aggregation import ask
from mirflow.analysis.inference import compare
from mirflow.analysis.inference.comparisons import mark_best
from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.errors import QueryError
from mirflow.report.layout import long_table, readable_table

from ..groups import make_group


@pytest.fixture(scope="module")
def board():
    """Two good systems that do not differ, and a bad one; the second metric is an error, of which less is better."""
    rng = np.random.default_rng(1)
    good = rng.uniform(0.7, 0.9, (1, 30))
    scores = np.concatenate([good, good + rng.normal(0, 0.01, (1, 30)), good - 0.3])
    both = np.stack([scores, 1 - scores], axis=2)
    return from_dataset(make_group(both, standard=["mean", "mean"], orientation=["higher", "lower"]))


def marked(board, question=None, **how):
    question = question or Question()
    return mark_best(board, question, ask(board, question), **how)


def test_the_best_and_what_does_not_differ_from_it(board):
    assert marked(board).like_best[..., 0].T.tolist() == [[True, True, False], [True, True, False]]


def test_it_is_what_the_comparison_says(board):
    found, answer = compare(board, Question("majmin")), marked(board, Question("majmin"))
    best = int(np.argmax(answer.value[:, 0, 0]))
    np.testing.assert_array_equal(answer.like_best[:, 0, 0], ~found.significant[best, :, 0])


def test_a_level_that_nothing_reaches(board):
    assert marked(board, level=0.9995).like_best[:, 0].tolist() == [[True], [True], [False]]
    for found in (marked(board, level=1 - 1e-9), marked(board, Question(tracks=[f"t{i}" for i in range(5)]))):
        assert not found.like_best.any()
        assert any(note.startswith("no *: so few units cannot give") for note in readable_table(found).notes)


def test_neither_way_is_better(board):
    ds = make_group(np.random.default_rng(0).random((2, 9, 1)), standard=["mean"], orientation=["none"])
    assert not marked(from_dataset(ds)).like_best.any()


def test_groups_of_tracks_have_none(board):
    with pytest.raises(QueryError, match="significance is that of values over all tracks"):
        marked(board, Question(by="track"))


def test_tables_have_a_star_and_a_note(board):
    table = readable_table(marked(board))
    assert [row[1].endswith("*") for row in table.rows] == [True, True, False]
    told = "*: not told apart from the best at 0.05 (permutation test, max-T, n = 30)"
    assert table.notes[1] == f"{told}; a best one without it differs from all others"


def test_programs_have_a_column(board):
    table = long_table(marked(board, Question("majmin")))
    assert [row[table.columns.index("like_best")] for row in table.rows] == [1, 1, 0]
    assert {row[table.columns.index("test")] for row in table.rows} == {"permutation"}


def test_as_labelled_arrays(board):
    ds = marked(board).to_dataset()
    assert ds["like_best"].dims == ("system", "metric")
    assert ds["like_best"].dtype == bool
