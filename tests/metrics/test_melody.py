"""Melody: mir_eval's functions, batches, conventions, and melodies on one time grid."""

from __future__ import annotations

import warnings
from pathlib import Path

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow import evaluate, explain
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import AnnotationError, MirflowWarning, UnknownNameError
from mirflow.metrics import melody
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.measures import Measure
from mirflow.metrics.melody.metrics import clean
from mirflow.metrics.melody.mir_eval import KINDS
from mirflow.ragged import Ragged
from tests.metrics.melodies import Melody, melodies, to_rows

TASK = get_task("melody")
PITCHED = ("raw_pitch_accuracy", "raw_chroma_accuracy", "overall_accuracy")
Pair = tuple[Melody, Melody]


def measures(kind: str = "linear", tolerance: float = 50.0, convention: str = "mir_eval") -> tuple[Measure, ...]:
    rules, resampling = TASK.convention(convention), KINDS[kind]
    voicing = [f"voicing_recall@{resampling}", f"voicing_false_alarm@{resampling}"]
    return rules.select([*voicing, *(f"{name}@{tolerance}(resampling={resampling})" for name in PITCHED)])


def score(batch: list[Pair], wanted: tuple[Measure, ...], grid: str | float = "reference") -> Scores:
    references, estimates = (to_rows([pair[side] for pair in batch]) for side in (0, 1))
    return TASK.convention().score(Pairs.in_order(references, estimates), wanted, grid)


def theirs(pair: Pair, **kwargs: object) -> list[float]:
    """mir_eval's scores; it writes into the voicing, so it gets a copy."""
    (ref_time, ref_freq, reward), (est_time, est_freq, voicing) = pair
    copies = [None if one is None else one.copy() for one in (voicing, reward)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(mir_eval.melody.evaluate(ref_time, ref_freq, est_time, est_freq, *copies, **kwargs).values())


def ours(pair: Pair, **kwargs: object) -> list[float]:
    (ref_time, ref_freq, reward), (est_time, est_freq, voicing) = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        return list(melody.evaluate(ref_time, ref_freq, est_time, est_freq, voicing, reward, **kwargs).values())


def series(time: list[float], frequency: list[float], **columns: list[float]) -> Annotation:
    every = {"time": time, "frequency": frequency, **columns}
    return Annotation("series", {name: np.array(values) for name, values in every.items()})


@settings(deadline=None, max_examples=75)
@given(
    batch=st.lists(st.tuples(melodies(), melodies()), min_size=1, max_size=5),
    kind=st.sampled_from(list(KINDS)),
    hop=st.sampled_from([None, None, 0.01, 0.0037, 0.1]),
    tolerance=st.sampled_from([50.0, 1.0, 599.0, 700.0]),
)
def test_scores_are_mir_evals_alone_and_in_batches_to_the_bit(
    batch: list[Pair], kind: str, hop: float | None, tolerance: float
) -> None:
    together = score(batch, measures(kind, tolerance), "reference" if hop is None else hop)
    assert not together.refused
    for number, pair in enumerate(batch):
        alone = score([pair], measures(kind, tolerance), "reference" if hop is None else hop)
        assert alone.score[0].tobytes() == together.score[number].tobytes()
        assert alone.weight[0].tobytes() == together.weight[number].tobytes()
        options = {"kind": kind, "hop": hop, "cent_tolerance": tolerance}
        assert together.score[number].tolist() == ours(pair, **options)
        np.testing.assert_allclose(together.score[number], theirs(pair, **options), rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=100)
@given(one=melodies(), other=melodies(), kind=st.sampled_from(list(KINDS)), hop=st.sampled_from([None, 0.01]))
def test_cents_and_voicing_on_common_frames_are_mir_evals(
    one: Melody, other: Melody, kind: str, hop: float | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = one[0], one[1], other[0], other[1]
        expected = mir_eval.melody.to_cent_voicing(*arrays, hop=hop, kind=kind)
        found = melody.to_cent_voicing(*arrays, hop=hop, kind=kind)
    for ours_, theirs_ in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours_, theirs_, rtol=0, atol=1e-9)


def real_pairs(shared_data: Path) -> list[Pair]:
    folder = shared_data / "adc2004-melody"
    pairs = []
    for path in sorted((folder / "reference").glob("*.txt")):
        one, other = (np.loadtxt(side) for side in (path, folder / "estimates/SG2" / path.name))
        pairs.append(((one[:, 0], one[:, 1], None), (other[:, 0], other[:, 1], None)))
    assert len(pairs) == 20
    return pairs


@pytest.mark.parametrize(("kind", "hop"), [("linear", None), ("nearest", 0.01), ("zero", 0.01), ("linear", 0.0037)])
def test_scores_of_real_tracks_are_mir_evals(shared_data: Path, kind: str, hop: float | None) -> None:
    batch = real_pairs(shared_data)
    found = score(batch, measures(kind), "reference" if hop is None else hop)
    expected = [theirs(pair, kind=kind, hop=hop) for pair in batch]
    np.testing.assert_allclose(found.score, expected, rtol=0, atol=1e-9)


class TestWeights:
    """The denominators in seconds."""

    pair = series([0.0, 0.5, 1.0, 1.5], [220.0, 220.0, 0.0, 330.0]), series([0.0, 1.5], [221.0, 440.0])

    def test_on_the_grid_of_the_reference_they_are_frames_times_its_mean_hop(self) -> None:
        found = evaluate(*self.pair, "melody")
        weights = dict(zip(found.metric.values.tolist(), found.weight.values.ravel().tolist(), strict=True))
        assert weights["voicing_recall"] == weights["raw_pitch_accuracy"] == 1.5
        assert weights["voicing_false_alarm"] == 0.5
        assert weights["overall_accuracy"] == 2.0

    def test_on_frames_they_are_frames_times_the_hop(self) -> None:
        found = evaluate(*self.pair, "melody", metrics=["overall_accuracy"], grid=0.25)
        assert found.weight.values.ravel().tolist() == [7 * 0.25]

    def test_a_reward_weighs_the_frames(self) -> None:
        reward = np.array([1.0, 0.25, 0.0, 0.25])
        reference = (np.arange(4) / 2, np.array([220.0, 220.0, 0.0, 330.0]), reward)
        found = score([(reference, (np.arange(4) / 2, np.full(4, 220.0), None))], measures())
        assert found.weight[0].tolist() == [1.5, 0.5, 0.75, 0.75, 2.0]
        assert found.score[0, 2] == pytest.approx(1.25 / 1.5)


class TestEmptySides:
    """What has no samples."""

    melody = np.array([0.0, 0.5, 1.0, 1.5]), np.array([220.0, 220.0, 0.0, 0.0]), None
    nothing = np.zeros(0), np.zeros(0), None

    def test_an_estimate_without_samples_is_silent(self) -> None:
        found = score([(self.melody, self.nothing)], measures())
        assert found.score[0].tolist() == [0.0, 0.0, 0.0, 0.0, 0.5]
        assert found.weight[0].tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
        assert found.score[0].tolist() == ours((self.melody, self.nothing))

    def test_without_a_reference_all_is_0(self) -> None:
        found = score([(self.nothing, self.melody), (self.nothing, self.nothing)], measures())
        assert found.score.tolist() == found.weight.tolist() == [[0.0] * 5] * 2
        assert ours((self.nothing, self.melody)) == [0.0] * 5


class TestMirex:
    """Frames of 10 ms, and a false alarm of 1 where nothing is unvoiced."""

    def test_samples_are_nearest_or_held(self) -> None:
        reference = series([0.0, 0.01, 0.02], [220.0, 220.0, 220.0])
        estimate = series([0.0, 0.012, 0.024], [220.0, 330.0, 330.0])
        for name, expected in (("mirex", 1 / 3), ("mirex_hold", 2 / 3)):
            found = evaluate(reference, estimate, "melody", convention=name, metrics=["overall_accuracy"])
            assert found.score.item() == pytest.approx(expected)

    def test_scores_are_mir_evals_with_its_options(self, shared_data: Path) -> None:
        batch = real_pairs(shared_data)[:5]
        for name, kind in (("mirex", "nearest"), ("mirex_hold", "zero")):
            rules, row = TASK.convention(name), np.arange(len(batch))
            sides = (to_rows([pair[side] for pair in batch]) for side in (0, 1))
            found = rules.score(Pairs(*sides, row, row), rules.select(), rules.grids[0])
            expected = np.array([theirs(pair, kind=kind, hop=0.01) for pair in batch])
            expected[found.weight[:, 1] == 0, 1] = 1.0  # a reference without unvoiced frames is among them
            np.testing.assert_allclose(found.score, expected, rtol=0, atol=1e-9)

    def test_false_alarm_without_unvoiced_frames(self) -> None:
        pair = series([0.0, 0.01], [220.0, 220.0]), series([0.0, 0.01], [220.0, 0.0])
        for name, expected in (("mir_eval", 0.0), ("mirex", 1.0), ("mirex_hold", 1.0)):
            found = evaluate(*pair, "melody", convention=name, metrics=["voicing_false_alarm"])
            assert (found.score.item(), found.weight.item()) == (expected, 0.0)


class TestCleaning:
    """What dataset runs do with odd rows."""

    clean = staticmethod(TASK.convention().clean)

    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("time", np.nan, "time is not finite: nan"),
            ("time", 1e12, "time is not in seconds"),
            ("frequency", np.inf, "frequency is not finite: inf"),
            ("voicing", 1.5, "voicing is not in [0, 1]: 1.5"),
            ("voicing", np.nan, "voicing is not in [0, 1]: nan"),
        ],
    )
    def test_flaws_name_the_sample_and_empty_the_row(self, column: str, value: float, message: str) -> None:
        columns = {"time": np.arange(4.0), "frequency": np.full(4, 220.0), "voicing": np.ones(4)}
        columns[column][1] = value
        cleaned = self.clean(Ragged(columns, (np.array([2, 2]),)))
        assert cleaned.flaws[0].item == 1
        assert message in cleaned.flaws[0].message
        assert cleaned.rows.counts[0].tolist() == [0, 2]

    def test_times_are_sorted_and_oddities_counted(self) -> None:
        columns = {"time": np.array([-1.0, 0.5, 0.0, 0.0]), "frequency": np.array([1.0, 2.0, 3.0, 4.0])}
        cleaned = self.clean(Ragged(columns, (np.array([4]),)))
        assert cleaned.rows.columns["frequency"].tolist() == [1.0, 3.0, 4.0, 2.0]
        assert cleaned.repairs.tolist() == [3]

    def test_a_row_without_voicing_takes_it_from_the_signs(self) -> None:
        graded = np.arange(3.0), np.array([220.0, 220.0, -220.0]), np.array([0.5, 1.0, 1.0])
        plain = np.arange(3.0), np.array([220.0, 220.0, -220.0]), None
        together = score([(plain, graded), (plain, plain)], measures())
        assert together.score[1].tolist() == score([(plain, plain)], measures()).score[0].tolist()
        assert together.score[0, 0] == 0.75


def test_a_reference_that_starts_before_0_and_before_the_estimate_is_refused() -> None:
    early = np.array([-0.5, 0.0, 0.5]), np.full(3, 220.0), None
    usual = np.array([0.0, 0.5]), np.full(2, 220.0), None
    found = score([(early, usual), (usual, early), (early, early)], measures())
    assert list(found.refused) == [0]
    assert "starts at -0.5 s" in found.refused[0]
    assert np.isnan(found.score[0]).all()
    assert found.score[1:, 4].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="below the first time"):
        melody.evaluate(early[0], early[1], usual[0], usual[1])


def test_too_many_frames_are_refused() -> None:
    late = np.array([0.0, 1e8]), np.full(2, 220.0), None
    usual = np.array([0.0, 0.5]), np.full(2, 220.0), None
    found = score([(usual, usual), (late, usual)], measures(), 0.01)
    assert list(found.refused) == [1]
    assert "frames" in found.refused[1]


@pytest.mark.parametrize("end", [-1.0, -0.001])
def test_a_melody_that_ends_before_the_first_frame_is_refused(end: float) -> None:
    early = np.array([-2.0, end]), np.full(2, 220.0), None
    usual = np.array([0.0, 0.5]), np.full(2, 220.0), None
    found = score([(usual, usual), (early, usual), (usual, early)], measures(), 0.01)
    assert list(found.refused) == [1, 2]
    assert f"ends at {end} s" in found.refused[1]
    for one, other in ((early, usual), (usual, early)):
        with pytest.raises(ValueError, match="cannot be resampled on frames"):
            melody.evaluate(one[0], one[1], other[0], other[1], hop=0.01)


def test_what_cannot_be_compared_is_not_explained() -> None:
    early, late = series([-2.0, -1.0], [220.0, 220.0]), series([0.0, 9e8], [220.0, 220.0])
    for reference, message in ((early, "before the first frame"), (late, "more than")):
        with pytest.raises(AnnotationError, match=message):
            get_task("melody").convention("mirex").explain(reference, late, measures(convention="mirex")[0])


def test_hardly_any_voicing_overflows_nothing() -> None:
    times, tiny = np.array([0.0, 1.0]), np.full(2, 5e-324)
    found = score([((times, np.full(2, 220.0), tiny), (times, np.full(2, 220.0), None))], measures())
    assert found.score[0].tolist() == [1.0, 0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("frequency", [5e-324, 1e-300, -1e308])
def test_frequencies_of_no_pitch_make_a_melody_invalid(frequency: float) -> None:
    cleaned = clean(to_ragged([series([0.0, 1.0], [220.0, frequency]), series([0.0], [0.01])]))
    assert list(cleaned.flaws) == [0]
    assert cleaned.flaws[0].message == f"frequency is not in Hz: {frequency}"


class TestPairFunctions:
    """mir_eval's interface."""

    def test_what_is_given_is_never_changed(self) -> None:
        voicing, times = np.ones(3), np.arange(3.0)
        melody.evaluate(times, np.array([220.0, 0.0, 330.0]), times, np.array([0.0, 220.0, 0.0]), voicing, voicing)
        assert voicing.tolist() == [1.0, 1.0, 1.0]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"kind": "cubic"}, "kind must be one of linear, nearest, zero"),
            ({"hop": 0.0}, "hop must be above 0 s"),
            ({"est_time": np.array([0.0, 1.0, 0.5])}, "ascending"),
            ({"est_time": np.array([0.0, 0.7, 0.7])}, "repeated times"),
            ({"est_time": np.array([0.0, np.nan, 0.5])}, "finite"),
            ({"est_freq": np.array([0.0, np.nan, 0.5])}, "finite"),
            ({"est_freq": np.zeros(2)}, "same length"),
            ({"est_voicing": np.array([0.0, 2.0, 0.0])}, "between 0 and 1"),
        ],
    )
    def test_what_is_no_melody_is_refused(self, changes: dict[str, object], message: str) -> None:
        times = np.arange(3.0)
        given = {"ref_time": times, "ref_freq": np.full(3, 220.0), "est_time": times, "est_freq": np.full(3, 220.0)}
        with pytest.raises(ValueError, match=message):
            melody.evaluate(**(given | changes))

    def test_arrays_of_different_length_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"Reference and estimated voicing arrays should be the same length\."):
            melody.voicing_measures(np.ones(2), np.ones(3))
        with pytest.raises(ValueError, match=r"All voicing and frequency arrays must have the same length\."):
            melody.overall_accuracy(np.ones(2), np.ones(2), np.ones(2), np.ones(3))

    def test_warnings(self) -> None:
        with pytest.warns(MirflowWarning, match="Non-uniform timescale passed to resample_melody_series"):
            melody.resample_melody_series(np.array([0.0, 1.0, 3.0]), np.arange(3.0), np.ones(3), np.array([0.5]))
        with pytest.warns(MirflowWarning, match=r"Reference melody has no voiced frames\."):
            melody.voicing_measures(np.zeros(2), np.ones(2))

    def test_new_times_may_be_in_any_order(self) -> None:
        times, values = np.arange(3.0), np.array([2.0, 4.0, 3.0])
        found, _ = melody.resample_melody_series(times, values, np.ones(3), np.array([1.5, 0.5]))
        assert found.tolist() == [3.5, 3.0]
        assert melody.resample_melody_series(times, values, np.ones(3), np.zeros(0))[0].size == 0


class TestEvidence:
    """What became of each frame."""

    reference = series([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [220.0, 220.0, 220.0, 220.0, 0.0, 0.0])
    estimate = series([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [220.0, 440.0, 300.0, -220.0, 220.0, -220.0])

    def test_verdicts(self) -> None:
        found = explain(self.reference, self.estimate, "overall_accuracy", "melody")
        verdicts = ["right", "octave", "wrong", "missed", "false alarm", "rightly unvoiced"]
        assert found.verdict.values.tolist() == verdicts
        assert found.end.values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        np.testing.assert_allclose(found.estimate_frequency, [220, 440, 300, -220, 220, -220])

    def test_raw_pitch_counts_guesses(self) -> None:
        found = explain(self.reference, self.estimate, "raw_pitch_accuracy", "melody")
        assert found.verdict.values.tolist()[3] == "right"

    def test_the_conventions_of_mirex_show_their_frames(self) -> None:
        found = explain(self.reference, self.estimate, "overall_accuracy", "melody", convention="mirex")
        assert len(found.start) == 501


generator = np.random.default_rng(3)


def melody_of(times: list[float], frequencies: list[float], **columns: np.ndarray) -> Annotation:
    return Annotation("series", {"time": np.array(times), "frequency": np.array(frequencies), **columns})


STEP = melody_of([0.0, 1.0, 2.0], [200.0, 400.0, 0.0])
LATE = melody_of([0.5, 1.5], [300.0, -300.0])


def test_the_union_has_every_time_and_melodies_are_silent_behind_their_end() -> None:
    both = mirflow.align([STEP, LATE], names=["ref", "est"])
    assert both.time.values.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert both.frequency.sel(annotation="est").values.tolist() == [300.0, 300.0, 300.0, 300.0, 0.0]
    assert both.voicing.sel(annotation="est").values.tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert both.frequency.attrs["units"] == "Hz"


def test_between_samples_a_line_in_cents_the_nearest_or_the_one_before() -> None:
    halfway = {how: mirflow.align([STEP], {"hop": 0.5}, resampling=how).frequency.values[0] for how in _HOW}
    assert halfway["linear"][1] == pytest.approx(200.0 * 2**0.5)
    assert halfway["hold"].tolist() == [200.0, 200.0, 400.0, 400.0, 0.0]
    assert halfway["nearest"][[0, 2, 4]].tolist() == halfway["linear"][[0, 2, 4]].tolist() == [200.0, 400.0, 0.0]


_HOW = ("linear", "nearest", "hold")


def test_on_the_reference_s_times_it_is_what_mir_eval_compares() -> None:
    own, other = np.arange(50) * 0.01, np.sort(generator.uniform(0.0, 0.6, 40))
    other[0] = 0.0
    pitch = generator.uniform(100, 400, 40) * generator.choice([1, 1, 0, -1], 40)
    reference, estimate = (
        melody_of(own.tolist(), generator.uniform(100, 400, 50).tolist()),
        melody_of(other.tolist(), pitch.tolist()),
    )
    found = mirflow.align([reference, estimate], "reference")
    with pytest.warns(mirflow.errors.MirflowWarning, match="Non-uniform"):
        _, _, voicing, cents = melody.to_cent_voicing(own, reference.columns["frequency"], other, pitch)
    assert found.voicing.values[1].tolist() == voicing.tolist()
    expected_hertz = np.where(cents == 0, 0.0, 10.0 * 2 ** (cents / 1200))
    np.testing.assert_allclose(found.frequency.values[1], expected_hertz, rtol=1e-12)
    assert found.frequency.values[0].tolist() == reference.columns["frequency"].tolist()


def test_a_melody_without_samples_is_silent() -> None:
    both = mirflow.align([STEP, melody_of([], [])], {"hop": 1.0})
    assert both.frequency.values[1].tolist() == both.voicing.values[1].tolist() == [0.0, 0.0, 0.0]


def test_what_cannot_be_aligned_is_refused() -> None:
    with pytest.raises(AnnotationError, match=r"est: frequency is not finite: nan"):
        mirflow.align([STEP, melody_of([0.0], [np.nan])], names=["ref", "est"])
    with pytest.raises(UnknownNameError, match="unknown resampling 'cubic'"):
        mirflow.align([STEP, LATE], resampling="cubic")
    with pytest.raises(AnnotationError, match="frames of 1e-09 s are more than"):
        mirflow.align([STEP, LATE], {"hop": 1e-9})
