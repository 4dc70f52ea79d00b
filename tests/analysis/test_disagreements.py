"""Places at which systems agree against a reference, on tracks of a few seconds whose answers are seen by eye."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.analysis.disagreements import TrackAnnotations, find_disagreements
from mirflow.annotations.annotation import Annotation


def chords(*rows: tuple[float, float, str]) -> Annotation:
    start, end, labels = zip(*rows, strict=True)
    return Annotation("intervals", {"start": np.array(start, float), "end": np.array(end, float)}, list(labels))


def beats(*times: float) -> Annotation:
    return Annotation("events", {"time": np.array(times)})


class TestLabels:
    @pytest.mark.parametrize("least", [0.1, 0.5])
    def test_one_system_against_the_reference_is_no_agreement(self, least: float) -> None:
        said = {"x": chords((0, 4, "G")), "y": chords((0, 4, "E"))}
        assert find_disagreements("chord", [TrackAnnotations("a", chords((0, 4, "C")), said)], least) == []

    def test_the_label_named_is_that_of_most_seconds_not_of_most_rows(self) -> None:
        # 3 s of C:7 in one row, 2 s of C in two: the rows of the systems split the time where the label stays.
        system = chords((0, 3, "C:7"), (3, 4, "C"), (4, 5, "C"))
        track = TrackAnnotations("a", chords((0, 5, "G")), {"x": system, "y": system})
        (found,) = find_disagreements("chord", [track])
        assert (found.start, found.end, found.consensus, found.systems) == (0.0, 5.0, "C:7", 2)


class TestEvents:
    @pytest.mark.parametrize("order", [("dense", "sparse"), ("sparse", "dense")])
    def test_two_events_of_one_system_beside_one_of_another_are_one_disagreement(self, order: tuple[str, ...]) -> None:
        systems = {"dense": beats(1.0, 1.06, 5.0), "sparse": beats(1.03, 5.0)}
        track = TrackAnnotations("a", beats(5.0), {name: systems[name] for name in order})
        (found,) = find_disagreements("beat", [track])
        assert len(found.missing) == 1
        assert found.weight == 1.0
