"""Items that the two sides name differently."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, CodedLabels
from mirflow.annotations.source import HeldSource
from mirflow.errors import UnreadableError
from mirflow.readers.names import ReferenceNames, RenamedSource


def held(kind: str, lists: Mapping[str, list[str]]) -> dict[str, HeldSource]:
    return {track: HeldSource(Annotation(kind, {}, labels), track) for track, labels in lists.items()}


def references(lists: Mapping[str, list[str]], kind: str = "ranking") -> ReferenceNames:
    return ReferenceNames(kind, {track: [source] for track, source in held(kind, lists).items()})


def matched(true: Mapping[str, list[str]], listed: Mapping[str, list[str]]) -> tuple[dict[str, list[str]], str]:
    found, warning = references(true).match(held("ranking", listed), "ada")
    return {track: list(source.read()[0].labels or ()) for track, source in found.items()}, warning


class TestNamesWithoutACommonOne:
    def test_are_not_shortened_where_two_would_be_alike(self):
        """`1.wav` of which folder? Both sides have to be sure."""
        found, warning = matched({"q": ["1"]}, {"q": ["x/1.wav", "y/1.wav"]})
        assert found == {"q": ["x/1.wav", "y/1.wav"]}
        assert "'x/1.wav' is listed, the reference has '1'" in warning
        found, warning = matched({"q": ["x/1.wav"], "r": ["y/1.wav"]}, {"q": ["1"]})
        assert found == {"q": ["1"]}
        assert "'1' is listed, the reference has 'x/1.wav'" in warning

    def test_of_candidates_are_reported_query_by_query(self):
        judged = references({"q": ["b01", "b02"]}, "judgements")
        found, warning = judged.match(held("judgements", {"q": ["x/b01.mp3"]}), "ada")
        assert (list(found["q"].read()[0].labels or ()), warning) == (["b01"], "")
        assert judged.match(held("judgements", {"q": ["c07"]}), "ada")[1] == ""

    def test_the_example_is_of_something_true(self):
        judged = Annotation("ranking", {"value": np.array([0.0, 2.0])}, ["bad", "good"])
        marked = Annotation("ranking", {"left_out": np.array([1.0, 0.0])}, ["itself", "other"])
        for annotation, true in ((judged, "good"), (marked, "other")):
            _, warning = ReferenceNames("ranking", {"q": [HeldSource(annotation, "q")]}).match(
                held("ranking", {"q": ["x"]}), "ada"
            )
            assert f"the reference has {true!r}" in warning


class TestNamesThatMatchAnywhere:
    def test_stay_as_they_are(self):
        true, listed = {"q": ["a.wav"], "r": ["b"]}, {"q": ["a"], "r": ["c", "b"]}
        assert matched(true, listed) == (listed, "")

    def test_in_the_reference_of_another_query_too(self):
        listed = {"q": ["b"]}
        assert matched({"q": ["a.wav"], "r": ["b"]}, listed) == (listed, "")

    def test_nothing_more_is_read_then(self):
        class Broken(HeldSource):
            def read(self):
                pytest.fail("read in vain")

        sources = {"q": held("ranking", {"q": ["a"]})["q"], "r": Broken(Annotation("ranking", {}, []), "r")}
        known = ReferenceNames("ranking", {track: [source] for track, source in sources.items()})
        assert known.match(sources, "ada") == (sources, "")


def test_where_one_side_has_no_names_there_is_nothing_to_report():
    assert matched({"q": []}, {"q": ["a"]})[1] == ""
    assert matched({"q": ["a"]}, {"q": []})[1] == ""
    assert matched({"q": ["a"]}, {"elsewhere": ["b"]})[1] == ""


def test_a_file_that_cannot_be_read_is_left_to_be_an_error_where_it_is_scored():
    class Gone(HeldSource):
        def read(self):
            raise UnreadableError("gone")

    listed = {"q": Gone(Annotation("ranking", {}, []), "q"), **held("ranking", {"r": ["b.wav"]})}
    found, warning = references({"q": ["a"], "r": ["b"]}).match(listed, "ada")
    assert warning == ""
    assert found["q"] is listed["q"]
    assert list(found["r"].read()[0].labels or ()) == ["b"]


class TestARenamedSource:
    coded = Annotation("ranking", {}, CodedLabels(("a", "b", "c"), np.array([2, 0])))

    def test_keeps_codes_of_a_shared_vocabulary(self):
        labels = RenamedSource(HeldSource(self.coded, "q"), (("a", "a.wav"),)).read()[0].labels
        assert isinstance(labels, CodedLabels)
        assert list(labels) == ["c", "a.wav"]

    def test_changes_with_its_names(self):
        source = HeldSource(self.coded, "q")
        one, other = RenamedSource(source, (("a", "A"),)), RenamedSource(source, (("a", "B"),))
        assert len({source.stat(), one.stat(), other.stat()}) == 3
        assert 0 <= one.stat()[1] < 2**63
        assert one.label == source.label

    def test_of_an_order_without_scores_has_no_ties(self):
        assert "tie" not in RenamedSource(HeldSource(self.coded, "q"), (("a", "A"),)).read()[0].columns

    def test_can_be_sent_to_a_worker(self):
        source = RenamedSource(HeldSource(self.coded, "q"), (("a", "A"),))
        again = pickle.loads(pickle.dumps(source))
        assert again.names == source.names
        assert again.stat() == source.stat()
