"""Labels as codes into a vocabulary that annotations share."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, CodedLabels, to_ragged
from mirflow.annotations.labelled import from_dataset, to_dataset

WORDS = ("x", "y", "z")


def coded(*codes: int, words: tuple[str, ...] = WORDS) -> CodedLabels:
    return CodedLabels(words, np.array(codes, dtype=np.int64))


def test_it_is_a_sequence_of_texts():
    labels = coded(2, 0, 2)
    assert (len(labels), labels[1], labels[-1], list(labels[1:])) == (3, "x", "z", ["x", "z"])
    assert labels == ["z", "x", "z"]
    assert labels != ["z", "x"]
    assert labels != "zxz"[:1]
    assert "x" in labels
    assert repr(labels) == "['z', 'x', 'z']"
    assert pickle.loads(pickle.dumps(labels)) == labels
    with pytest.raises(IndexError):
        labels[3]


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=5))
def test_rows_are_the_same_whichever_way_labels_are_reported(rows):
    def side(*, plain: bool):
        labels = [
            [words[code] for code in codes] if plain or not shared else coded(*codes, words=words)
            for place, (shared, codes) in enumerate(rows)
            for words in (WORDS if place % 2 else ("z", "w", "x"),)
        ]
        return to_ragged([Annotation("ranking", {}, one) for one in labels])

    texts = []
    for ragged in (side(plain=True), side(plain=False)):
        texts.append([ragged.labels[code] for code in ragged.columns["label"].tolist()])
        assert ragged.counts[0].tolist() == [len(codes) for _, codes in rows]
    assert texts[0] == texts[1]


def test_a_dataset_has_them_as_text():
    dataset = to_dataset(Annotation("ranking", {"value": np.array([2.0, 1.0])}, coded(1, 0)))
    assert dataset.label.values.tolist() == ["y", "x"]
    assert from_dataset(dataset).labels == ["y", "x"]
