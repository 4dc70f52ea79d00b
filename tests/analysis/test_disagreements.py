"""Places at which systems agree against a reference, on tracks of a few seconds whose answers are seen by eye."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.analysis.where_to_look import TrackAnnotations, find_disagreements
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

    def test_a_run_ends_where_the_reference_or_the_systems_change(self) -> None:
        reference = chords((0, 2, "C"), (2, 4, "D"), (4, 8, "E"))
        system = chords((0, 1, "G"), (1, 3, "G"), (3, 5, "A"), (5, 6, "A"), (6, 7, "E"), (7, 8, "A"))
        found = find_disagreements("chord", [TrackAnnotations("a", reference, {"x": system, "y": system})])
        runs = [(one.start, one.end, one.reference, one.consensus) for one in found]
        assert sorted(runs) == [
            (0.0, 2.0, "C", "G"),
            (2.0, 3.0, "D", "G"),
            (3.0, 4.0, "D", "A"),
            (4.0, 6.0, "E", "A"),
            (7.0, 8.0, "E", "A"),
        ]


class TestEvents:
    def test_within_the_window_they_are_the_same(self) -> None:
        for time, extra in ((0.07, 0), (0.0700001, 1)):
            track = TrackAnnotations("a", beats(0.0, time), {"x": beats(0.0), "y": beats(0.0)})
            assert sum(len(one.extra) for one in find_disagreements("beat", [track])) == extra

    @pytest.mark.parametrize(
        ("count", "listed"), [(4, "1.00, 2.00, 3.00, 4.00"), (6, "1.00, 2.00, 3.00, 4.00 and 2 more")]
    )
    def test_four_times_are_named(self, count: int, listed: str) -> None:
        systems = {name: beats(*np.arange(1.0, count + 1)) for name in "xy"}
        (found,) = find_disagreements("beat", [TrackAnnotations("a", beats(), systems)])
        assert found.consensus == listed

    @pytest.mark.parametrize("order", [("dense", "sparse"), ("sparse", "dense")])
    def test_two_events_of_one_system_beside_one_of_another_are_one_disagreement(self, order: tuple[str, ...]) -> None:
        systems = {"dense": beats(1.0, 1.06, 5.0), "sparse": beats(1.03, 5.0)}
        track = TrackAnnotations("a", beats(5.0), {name: systems[name] for name in order})
        (found,) = find_disagreements("beat", [track])
        assert len(found.missing) == 1
        assert found.weight == 1.0


def test_a_minor_triad_is_none_of_the_major_ones():
    """Each of the 24 triads differs from all others."""
    roots = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]
    labels = [f"{root}:{quality}" for root in roots for quality in ("maj", "min")]
    rows = [(float(place), place + 1.0, label) for place, label in enumerate(labels)]
    for turned in range(1, len(labels)):
        others = [(*row[:2], labels[(place + turned) % len(labels)]) for place, row in enumerate(rows)]
        track = TrackAnnotations("a", chords(*rows), {"x": chords(*others), "y": chords(*others)})
        assert sum(found.weight for found in find_disagreements("chord", [track])) == len(labels)
