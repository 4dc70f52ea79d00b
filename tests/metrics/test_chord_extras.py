"""The chord measures beyond mir_eval's, each against a naive loop over the definition."""

from __future__ import annotations

from collections.abc import Callable

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, from_ragged
from mirflow.errors import AnnotationError, MetricError, UnknownNameError
from mirflow.metrics import chord as pair_functions
from mirflow.metrics.base import Pairs, get_task
from mirflow.metrics.chord.rules import VOCABULARIES, to_25
from mirflow.theory.chords import encode_vocabulary

from .chord_pairs import ODD_LABELS, Sequence_, accepted, chord_sequences, to_rows, without_instants
from .test_chord_scoring import CONVENTION, chords, score_pairs

DECIBEL = get_task("chord").convention("decibel")

sequence = chord_sequences()
reference_sequence = chord_sequences(min_size=1)
hops = st.sampled_from([0.1, 0.25, 0.3, 1 / 3, 2.0])


def each_pair(*more: st.SearchStrategy) -> Callable:
    """Try a test on pairs of sequences, and on what else it takes."""
    return lambda test: settings(max_examples=40, deadline=None)(given(reference_sequence, sequence, *more)(test))


def one(name: str, reference: Sequence_, estimate: Sequence_, grid="union") -> tuple[float, float]:
    found = score_pairs([(reference, estimate)], CONVENTION.select([name]), grid)
    return float(found.score[0, 0]), float(found.weight[0, 0])


def fitted(reference: Sequence_, estimate: Sequence_) -> tuple[np.ndarray, list[str]]:
    """The estimate over the reference's span, by mir_eval."""
    intervals = np.array(estimate[:2], dtype=np.float64).T
    return mir_eval.util.adjust_intervals(intervals, list(estimate[2]), min(reference[0]), max(reference[1]), "N", "N")


def segments(reference: Sequence_, estimate: Sequence_) -> list[tuple[float, str, str]]:
    """Duration and both labels of each segment, by mir_eval."""
    intervals, labels = fitted(reference, accepted(reference, estimate))
    spans = np.array(reference[:2]).T
    merged, ours, theirs = mir_eval.util.merge_labeled_intervals(spans, reference[2], intervals, labels)
    return list(zip((merged[:, 1] - merged[:, 0]).tolist(), ours, theirs, strict=True))


def frames(reference: Sequence_, estimate: Sequence_, hop: float, start: float = 0.0) -> list[tuple[str, str]]:
    """Both labels at each frame of the reference; N where there is none."""

    def label_at(side: Sequence_, time: float) -> str:
        return next((label for start, end, label in zip(*side, strict=True) if start <= time < end), "N")

    found, number = [], 0
    while (time := start + number * hop) < reference[1][-1]:
        if time >= reference[0][0]:
            found.append((label_at(reference, time), label_at(estimate, time)))
        number += 1
    return found


def is_right(rule: str, reference: str, estimate: str) -> float:
    return float(getattr(pair_functions, rule)([reference], [estimate])[0])


class TestChordSymbolRecall:
    @each_pair(st.sampled_from(["majmin", "sevenths_inv", "mirex"]))
    def test_is_right_seconds_over_all_seconds(self, reference, estimate, rule) -> None:
        rows = segments(reference, estimate)
        right = sum(seconds for seconds, *labels in rows if is_right(rule, *labels) == 1)
        every = sum(seconds for seconds, *_ in rows)
        assert one(f"csr@{rule}", reference, estimate) == pytest.approx((right / every, every), abs=1e-12)

    @each_pair(hops)
    def test_frame_wise_is_right_frames_over_all_frames(self, reference, estimate, hop) -> None:
        rows = frames(reference, estimate, hop, reference[0][0])
        right = sum(is_right("majmin", *labels) == 1 for labels in rows)
        score, weight = one(f"csr_framewise@majmin(hop={hop!r})", reference, estimate)
        assert (score, weight) == pytest.approx((right / len(rows), len(rows) * hop), abs=1e-12)

    def test_frame_wise_does_not_depend_on_the_grid(self) -> None:
        pair = chords((0.0, 1.05, "C"), (1.05, 2.0, "G")), chords((0.0, 0.93, "C"), (0.93, 2.0, "G"))
        assert one("csr_framewise", *pair) == one("csr_framewise", *pair, grid=0.5)

    def test_frame_wise_refuses_a_hop_of_nothing(self) -> None:
        with pytest.raises(MetricError, match="must be greater than 0 s"):
            one("csr_framewise@majmin(hop=0.0)", chords((0.0, 1.0, "C")), chords())


class TestFrames:
    @each_pair(hops)
    def test_rules_on_frames_are_right_frames_over_comparable_frames(self, reference, estimate, hop) -> None:
        verdicts = [is_right("majmin", *labels) for labels in frames(reference, estimate, hop)]
        right, comparable = verdicts.count(1.0), len(verdicts) - verdicts.count(-1.0)
        score, weight = one("majmin", reference, estimate, grid=hop)
        assert score == pytest.approx(right / comparable if comparable else 0.0, abs=1e-12)
        assert weight == pytest.approx(comparable * hop, abs=1e-9)

    @each_pair(hops)
    def test_segmentation_on_frames_is_that_of_the_frames_runs(self, reference, estimate, hop) -> None:
        rows = frames(reference, estimate, hop)
        if not rows:
            assert [one(side, reference, estimate, grid=hop) for side in ("overseg", "underseg")] == [(0.0, 0.0)] * 2
            return
        bounds = np.arange(len(rows) + 1, dtype=np.float64)
        spans = np.array([bounds[:-1], bounds[1:]]).T
        runs = [mir_eval.chord.merge_chord_intervals(spans, list(side)) for side in zip(*rows, strict=True)]
        assert one("overseg", reference, estimate, grid=hop)[0] == pytest.approx(mir_eval.chord.overseg(*runs))
        assert one("underseg", reference, estimate, grid=hop)[0] == pytest.approx(mir_eval.chord.underseg(*runs))

    def test_a_reference_between_two_frames_has_score_0_and_weight_0_beside_others(self) -> None:
        short, long = chords((0.125, 0.25, "C")), chords((0.0, 1.0, "C"))
        measures = CONVENTION.select(["majmin", "seg", "csr_framewise@majmin(hop=0.1)", "confusion@majmin"])
        pairs = Pairs.in_order(to_rows([short, long]), to_rows([long, long]))
        scores = CONVENTION.score(pairs, measures, 0.3)
        assert scores.score.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
        assert scores.weight[0, :2].tolist() == [0.0, 0.0]
        assert not scores.refused
        (confusion,) = scores.extras.values()
        assert confusion.index[:, 0].tolist() == [1]


class TestOverlap2008:
    def test_on_the_25_classes_it_is_mir_evals_majmin(self) -> None:
        rng = np.random.default_rng(2008)
        names = np.array(
            [*(f"{root}:{mode}" for root in "CDEFGAB" for mode in ("maj", "min")), "Db:maj", "C#:maj", "N"]
        )
        for _ in range(20):
            sides = []
            for size in (12, 17):
                cuts = np.array([0.0, *np.sort(rng.uniform(0, 60, size - 1)).round(3), 60.0])
                sides += [
                    np.column_stack([cuts[:-1], cuts[1:]]),
                    rng.choice(names[:: rng.integers(4, 9)], size).tolist(),
                ]
            expected = mir_eval.chord.evaluate(*sides)["majmin"]
            pair = (
                chords(*((*times, label) for times, label in zip(spans.tolist(), labels, strict=True)))
                for spans, labels in (sides[:2], sides[2:])
            )
            assert one("overlap_2008", *pair)[0] == pytest.approx(expected, abs=1e-12)

    @each_pair()
    def test_is_the_time_in_the_same_of_25_classes(self, reference, estimate) -> None:
        rows = segments(reference, estimate)
        classes = dict(zip(ODD_LABELS, to_25(encode_vocabulary(ODD_LABELS)).tolist(), strict=True))
        right = sum(seconds for seconds, ours, theirs in rows if classes[ours] == classes[theirs])
        every = sum(seconds for seconds, *_ in rows)
        assert one("overlap_2008", reference, estimate) == pytest.approx((right / every, every), abs=1e-12)

    @pytest.mark.parametrize(
        ("labels", "number"),
        [
            (["C", "C:7", "C:aug", "C:sus2", "C:sus4", "C:5", "C:1", "C:9(*3)", "C/b3", "C:maj(b3)", "C:maj(*5)"], 0),
            (["B:maj6"], 11),
            (["C:min", "C:dim", "C:dim7", "C:hdim7", "C:min9", "C:minmaj7", "C:min/b7"], 12),
            (["B:min"], 23),
            (["N", "X"], 24),
        ],
    )
    def test_every_chord_has_a_class(self, labels, number) -> None:
        assert set(to_25(encode_vocabulary(labels)).tolist()) == {number}


class TestClassRecall:
    @each_pair(st.sampled_from(["majmin", "triads", "sevenths", "tetrads"]))
    def test_is_the_mean_over_the_references_qualities(self, reference, estimate, name) -> None:
        classes = VOCABULARIES[name].classes
        of = dict(zip(ODD_LABELS, VOCABULARIES[name].classify(encode_vocabulary(ODD_LABELS)).tolist(), strict=True))
        right: dict[str, float] = {}
        every: dict[str, float] = {}
        for seconds, ours, theirs in segments(reference, estimate):
            quality = classes[of[ours]].rpartition(":")[2]
            if quality != "other":
                every[quality] = every.get(quality, 0.0) + seconds
                right[quality] = right.get(quality, 0.0) + seconds * (of[ours] == of[theirs])
        expected = np.mean([right[quality] / every[quality] for quality in every]) if every else 0.0
        assert one(f"class_recall@{name}", reference, estimate) == pytest.approx((expected, len(every)), abs=1e-12)

    def test_other_vocabularies_are_refused(self) -> None:
        with pytest.raises(UnknownNameError, match="root"):
            CONVENTION.select(["class_recall@root"])


class TestConfusion:
    @given(st.lists(st.tuples(sequence, sequence), min_size=1, max_size=4), st.sampled_from(sorted(VOCABULARIES)))
    @settings(max_examples=40, deadline=None)
    def test_holds_the_seconds_of_each_combination(self, pairs, name) -> None:
        expected: dict[tuple[int, int, int], float] = {}
        of = dict(zip(ODD_LABELS, VOCABULARIES[name].classify(encode_vocabulary(ODD_LABELS)).tolist(), strict=True))
        for place, (reference, estimate) in enumerate(pairs):
            for seconds, ours, theirs in segments(reference, estimate) if reference[2] else ():
                index = place, of[ours], of[theirs]
                expected[index] = expected.get(index, 0.0) + seconds
        sparse = score_pairs(pairs, CONVENTION.select([f"confusion@{name}"])).extras[f"confusion_{name}"]
        found = dict(zip(map(tuple, sparse.index.tolist()), sparse.value.tolist(), strict=True))
        assert found == pytest.approx(expected)
        assert len(found) == len(sparse.value)
        assert sparse.coords == (VOCABULARIES[name].classes,) * 2

    def test_of_an_unknown_vocabulary(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'tetrads'"):
            CONVENTION.select(["confusion@tetrad"])


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_have_one_name_for_each_class(name) -> None:
    classes = VOCABULARIES[name].classes
    assert len(set(classes)) == len(classes)
    assert classes[-2:] == ("N", "other")
    assert VOCABULARIES[name].classify(encode_vocabulary(["N", "X"])).tolist() == [len(classes) - 2, len(classes) - 1]
    named = [label for label in classes if label != "other" and name != "root"]
    assert VOCABULARIES[name].classify(encode_vocabulary(named)).tolist() == list(range(len(named)))


class TestDecibel:
    @each_pair()
    def test_does_not_merge_neighbours(self, reference, estimate) -> None:
        rows = to_rows([reference]), to_rows([estimate])
        found = DECIBEL.score(Pairs.in_order(*rows), DECIBEL.select(), "union")
        estimate = without_instants(reference, estimate)
        intervals, _ = fitted(reference, estimate)
        spans = np.array(reference[:2]).T
        under, over = mir_eval.chord.underseg(spans, intervals), mir_eval.chord.overseg(spans, intervals)
        majmin = one("majmin", reference, estimate)[0]
        names = [str(measure) for measure in DECIBEL.select()]
        assert names == ["csr", "undersegmentation", "oversegmentation", "segmentation"]
        assert found.score[0].tolist() == pytest.approx([majmin, under, over, min(under, over)], abs=1e-12)

    @each_pair()
    def test_evidence_adds_up_to_every_score(self, reference, estimate) -> None:
        rows = to_rows([reference]), to_rows([without_instants(reference, estimate)])
        measures = DECIBEL.select()
        score = DECIBEL.score(Pairs.in_order(*rows), measures, "union")
        for place, measure in enumerate(measures):
            found = DECIBEL.explain(*(from_ragged("intervals", side, 0) for side in rows), measure)
            seconds = found["end"] - found["start"]
            right, comparable = (
                seconds[mask].sum() for mask in (found["verdict"] == "right", found["verdict"] != "not comparable")
            )
            assert (score.score[0, place], score.weight[0, place]) == pytest.approx(
                (right / comparable if comparable else 0.0, comparable), abs=1e-12
            )

    def test_refuses_any_overlap(self) -> None:
        rows = to_rows([chords((0.0, 2.0, "C"), (1.0, 3.0, "C"))])
        assert list(DECIBEL.score(Pairs.in_order(rows, rows), DECIBEL.select(), "union").refused) == [0]
        assert list(DECIBEL.clean(rows).flaws) == [0]


def annotation(side: Sequence_) -> Annotation:
    columns = {"start": np.array(side[0], dtype=float), "end": np.array(side[1], dtype=float)}
    return Annotation("intervals", columns, list(side[2]), attrs={"source": "one.lab"})


class TestEvidence:
    @each_pair(st.sampled_from(["majmin", "tetrads_inv", "overseg", "underseg", "seg"]))
    def test_adds_up_to_score_and_weight(self, reference, estimate, rule) -> None:
        found = CONVENTION.explain(annotation(reference), annotation(estimate), CONVENTION.select([rule])[0])
        seconds = found["end"] - found["start"]
        assert seconds.min() > 0
        assert (found["end"][:-1] == found["start"][1:]).all()
        score, weight = one(rule, reference, estimate)
        assert seconds[found["verdict"] != "not comparable"].sum() == pytest.approx(weight, abs=1e-12)
        assert seconds[found["verdict"] == "right"].sum() == pytest.approx(score * weight, abs=1e-12)
        expected = [tuple(labels) for _, *labels in segments(reference, estimate)]
        pairs = list(zip(found["reference"].tolist(), found["estimate"].tolist(), strict=True))
        assert [pair for place, pair in enumerate(pairs) if place == 0 or pair != pairs[place - 1]] == [
            pair for place, pair in enumerate(expected) if place == 0 or pair != expected[place - 1]
        ]

    def test_is_not_defined_for_measures_without_segments(self) -> None:
        side = annotation(chords((0.0, 1.0, "C")))
        for name in ("class_recall", "csr_framewise"):
            with pytest.raises(MetricError, match=f"{name} does not judge segments"):
                CONVENTION.explain(side, side, CONVENTION.select([name])[0])

    def test_of_what_cannot_be_scored(self) -> None:
        good, measure = annotation(chords((0.0, 1.0, "C"))), CONVENTION.select(["root"])[0]
        with pytest.raises(AnnotationError, match=r"one.lab:2: estimate: not a chord: 'H'"):
            CONVENTION.explain(good, annotation(chords((0.0, 1.0, "C"), (1.0, 2.0, "H"))), measure)
        with pytest.raises(AnnotationError, match="the reference is empty"):
            CONVENTION.explain(annotation(chords()), good, measure)
