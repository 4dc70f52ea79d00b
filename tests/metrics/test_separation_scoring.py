"""Source separation over rows of signals: matching of sources, frames, refusals, and museval's convention."""

from __future__ import annotations

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.audio import HeldSignal
from mirflow.errors import AnnotationError
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.cleaning import Cleaned
from mirflow.metrics.separation.kernel import from_arrays, scale_invariant
from mirflow.metrics.separation.metrics import median_over_frames
from tests.metrics.recordings import SyntheticSignal, mixed, museval, of_signals, row, rows, sources

TASK = get_task("separation")
RATE = 8000.0
ALL = ("sdr", "sir", "sar", "image_sdr", "image_isr", "image_sir", "image_sar", "si_sdr")


def score(pairs: list[tuple[Annotation, Annotation]], *metrics: str, convention: str = "mir_eval") -> Scores:
    rules, place = TASK.convention(convention), np.arange(len(pairs))
    sides = [rules.clean(rows(*side)) for side in zip(*pairs, strict=True)]
    assert not sides[0].flaws
    assert not sides[1].flaws
    return rules.score(Pairs(sides[0].rows, sides[1].rows, place, place), rules.select(metrics or None), "union")


def dense(scores: Scores, variable: str, pair: int = 0) -> np.ndarray:
    sparse = scores.extras[variable]
    found = np.full([len(labels) for labels in sparse.coords], sparse.fill)
    own = sparse.index[:, 0] == pair
    found[tuple(sparse.index[own, 1:].T)] = sparse.value[own]
    return found


def variable_of(identity: str) -> str:
    return TASK.convention("museval").select([identity])[0].variable


def refusal(reference: Annotation, estimate: Annotation, convention: str = "mir_eval") -> str:
    found = score([(reference, estimate)], convention=convention)
    assert np.isnan(found.score).all()
    assert (found.weight == len(reference)).all()
    assert list(found.refused) == [0]
    return found.refused[0]


@pytest.mark.filterwarnings("ignore::FutureWarning")
class TestMirEval:
    """The convention mir_eval."""

    def test_scores_are_means_and_variables_are_lists_of_mir_evals_evaluate(self) -> None:
        reference = sources(2, 1500)
        estimate = mixed(reference)[::-1]
        expected = mir_eval.separation.evaluate(reference, estimate)
        by_source = [metric for metric in TASK.convention().metrics if metric.key and metric.dims == ("source",)]
        assert len(by_source) == 8
        found = score([(row(reference), row(estimate))], *ALL, *(metric.name for metric in by_source))
        for metric in by_source:
            own = dense(found, f"{metric.name}_512")
            np.testing.assert_allclose(own, expected[metric.key], rtol=0, atol=1e-9)
            if metric.name != "source_permutation":
                scalar = ALL.index(metric.name.removeprefix("source_"))
                assert found.score[0, scalar] == pytest.approx(own.mean(), abs=1e-12)
        assert (found.weight == 2).all()

    def test_frames_are_mir_evals(self) -> None:
        reference = sources(2, 2600)
        estimate = mixed(reference)
        reference[0, 800:1600] = 0
        found = score([(row(reference), row(estimate))], "frame_sdr@0.1(hop=0.05)", "frame_image_isr@0.1(hop=0.05)")
        sdr = mir_eval.separation.bss_eval_sources_framewise(reference, estimate, 800, 400)[0]
        assert np.isnan(sdr[:, 2]).all()
        np.testing.assert_allclose(dense(found, "frame_sdr_0.1_hop_0.05"), sdr, rtol=0, atol=1e-9)
        isr = mir_eval.separation.bss_eval_images_framewise(reference, estimate, 800, 400)[1]
        keep = ~np.isnan(sdr)
        np.testing.assert_allclose(dense(found, "frame_image_isr_0.1_hop_0.05")[keep], isr[keep], rtol=0, atol=1e-9)
        assert np.isnan(dense(found, "frame_image_isr_0.1_hop_0.05")[~keep]).all()
        assert found.extras["frame_sdr_0.1_hop_0.05"].coords[1][:2] == ("000000", "000001")
        assert found.extras["frame_sdr_0.1_hop_0.05"].attrs["units"] == "dB"

    def test_stereo_images_are_mir_evals_and_sources_sum_over_channels(self) -> None:
        reference = sources(1, 2400, channels=2)
        estimate = mixed(reference, leak=0.0)
        found = score([(row(reference), row(estimate))], *ALL[:-1]).score[0]
        sdr, isr, sir, sar, _ = mir_eval.separation.bss_eval_images(reference, estimate, False)
        np.testing.assert_allclose(found[[3, 4, 5, 6]], [sdr[0], isr[0], sir[0], sar[0]], rtol=0, atol=1e-9)
        own = museval().bss_eval(reference, estimate, np.inf, np.inf, bsseval_sources_version=True)
        np.testing.assert_allclose(found[[0, 1, 2]], [own[0][0, 0], own[2][0, 0], own[3][0, 0]], rtol=0, atol=1e-9)

    def test_the_permutation_and_the_length_of_the_filters_are_parameters(self) -> None:
        reference = sources(2, 1500)
        pair = row(reference), row(mixed(reference)[::-1])
        best, given, short = score([pair], "sdr", "sdr(permutation=false)", "sdr@1").score[0]
        assert best > short > given
        assert given < 0
        shortest = score([(row(reference[:1]), row(mixed(reference)[:1]))], "sdr@1", "si_sdr").score[0]
        assert shortest[0] == pytest.approx(shortest[1], abs=1e-9)  # a filter of one tap is a gain


class TestScaleInvariant:
    reference, noise = sources(2, 4000, 3)

    def test_a_gain_is_forgiven_and_noise_is_not(self) -> None:
        orthogonal = self.noise - self.reference * (self.noise @ self.reference) / (self.reference @ self.reference)
        orthogonal *= np.sqrt((self.reference @ self.reference) / (orthogonal @ orthogonal))
        estimate = -3 * (self.reference + 0.1 * orthogonal)
        found = score([(row(self.reference), row(estimate[None]))], "si_sdr").score
        assert found[0, 0] == pytest.approx(20.0, abs=1e-9)

    def test_means_may_be_taken_off(self) -> None:
        pair = row(self.reference[None] + 5), row(self.reference[None] + 0.1 * self.noise - 2)
        with_mean, without = score([pair], "si_sdr", "si_sdr@true").score[0]
        centred = [side - side.mean() for side in (self.reference, self.reference + 0.1 * self.noise)]
        expected = score([(row(centred[0][None]), row(centred[1][None]))], "si_sdr").score[0, 0]
        assert abs(with_mean - without) > 1
        assert without == pytest.approx(expected, abs=1e-9)

    @given(st.integers(-900, 900), st.integers(-900, 900), st.booleans())
    def test_the_scale_of_either_side_makes_no_difference(self, left: int, right: int, zero_mean: bool) -> None:
        estimate = self.reference + 0.1 * self.noise
        plain, scaled = (
            scale_invariant(
                from_arrays(np.ldexp(self.reference, one)), from_arrays(np.ldexp(estimate, other)), zero_mean
            )
            for one, other in ((0, 0), (left, right))
        )
        assert scaled == plain

    def test_the_order_is_that_of_the_best_mean(self) -> None:
        reference = np.stack([self.reference, self.noise])
        swapped = row(reference), row(mixed(reference)[::-1])
        best, given = score([swapped], "si_sdr", "si_sdr(permutation=false)").score[0]
        assert best > 0 > given
        assert score([swapped], "si_sdr", convention="museval").score[0, 0] == given


class TestMuseval:
    """The convention museval, beside museval itself."""

    @pytest.mark.parametrize(("channels", "frames"), [(0, 3000), (2, 3600)])
    @pytest.mark.parametrize("filters", ["track", pytest.param("frame", marks=pytest.mark.slow)])
    def test_frames_are_musevals(self, channels: int, frames: int, filters: str) -> None:
        reference = sources(2, frames, channels=channels)
        estimate = mixed(reference)
        reference[1, :1000] = 0
        names = ("sdr", "isr", "sir", "sar")
        spans = f"@0.3(hop=0.1,filters={filters})"
        found = score(
            [(row(reference), row(estimate))],
            *(f"{name}{spans}" for name in names),
            *(f"frame_{name}{spans}" for name in names),
            *(f"source_{name}{spans}" for name in names),
            convention="museval",
        )
        expected = museval().bss_eval(reference, estimate, 2400, 800, framewise_filters=filters == "frame")
        for column, name in enumerate(names):
            np.testing.assert_allclose(
                dense(found, variable_of(f"frame_{name}{spans}")), expected[column], rtol=0, atol=1e-6
            )
            medians = np.nanmedian(expected[column], axis=1)
            np.testing.assert_allclose(dense(found, variable_of(f"source_{name}{spans}")), medians, rtol=0, atol=1e-6)
            assert found.score[0, column] == pytest.approx(medians.mean(), abs=1e-6)

    def test_numbers_of_museval_0_4_1(self) -> None:
        """So that they are checked where museval is not installed, too."""
        phase = np.arange(2000)
        reference = np.array([np.sin(phase**1.5 / 40) + np.cos(phase**2 / 999), np.cos(phase**1.9 / 70)])
        estimate = reference + 0.3 * reference[::-1] + 0.1 * np.sin(phase**1.7 / 9)
        spans = "@0.1(hop=0.1,filters_len=32)"
        found = score([(row(reference), row(estimate))], *(f"{n}{spans}" for n in _NAMES), convention="museval")
        assert found.score[0].tolist() == pytest.approx(_EXPECTED, abs=1e-6)

    def test_windows_longer_than_the_track_are_the_track(self) -> None:
        reference = sources(1, 1500)
        pair = row(reference), row(mixed(reference))
        long, exact = score([pair], "sdr@60.0", "sdr@0.1875(hop=0.1)", convention="museval").score[0]
        assert long == exact
        assert long == pytest.approx(score([pair], "image_sdr").score[0, 0], abs=1e-9)

    @pytest.mark.parametrize("filters", ["track", "frame"])
    def test_what_is_left_after_the_only_frame_is_left_out(self, filters: str) -> None:
        reference = sources(1, 1500)
        estimate = mixed(reference)
        names = [f"{name}@0.15(hop=0.1,filters={filters})" for name in ("sdr", "sar")]
        found = score([(row(reference), row(estimate))], *names, convention="museval")
        expected = museval().bss_eval(reference, estimate, 1200, 800, framewise_filters=filters == "frame")
        np.testing.assert_allclose(found.score[0], [expected[0][0, 0], expected[3][0, 0]], rtol=0, atol=1e-9)

    @pytest.mark.parametrize("frames", [1300, 1700])
    def test_estimates_are_cut_or_padded_to_the_references_length(self, frames: int) -> None:
        reference = sources(2, 1500)
        estimate = mixed(sources(2, 1700))[:, :frames]
        refitted = np.pad(estimate[:, :1500], ((0, 0), (0, max(0, 1500 - frames))))
        found = score([(row(reference), row(estimate)), (row(reference), row(refitted))], convention="museval")
        assert found.score[0].tolist() == found.score[1].tolist()
        assert found.repairs.tolist() == [2, 0]
        assert "samples" in refusal(row(reference), row(estimate))

    def test_medians_leave_out_frames_without_a_score(self) -> None:
        assert median_over_frames(np.array([[np.inf, 1.0, np.nan, 2.0]])).tolist() == [2.0]


_NAMES = ("sdr", "isr", "sir", "sar")
_EXPECTED = [10.156109412510943, 28.472721392425342, 10.570279731713967, 22.119924117922405]


class TestMeeting:
    """Which source is meant for which, and what cannot be compared."""

    reference, estimate = sources(3, 700), mixed(sources(3, 700))

    def test_named_sources_meet_by_name_and_others_by_order(self) -> None:
        order = [2, 0, 1]
        names = np.array(["bass", "drums", "voice"])
        named = row(self.reference, names.tolist())
        pairs = [
            (named, row(self.estimate, names.tolist())),
            (named, row(self.estimate[order], names[order].tolist())),
            (named, row(self.estimate)),
            (row(self.reference), row(self.estimate, names[order].tolist())),
        ]
        found = score(pairs, "sdr(permutation=false)", "source_sdr(permutation=false)")
        assert len(set(found.score[:, 0].tolist())) == 1
        assert found.extras["source_sdr_512_permutation_false"].coords == (
            ("00", "01", "02", "bass", "drums", "voice"),
        )

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (("bass", "drums", "vocals"), "no estimate of source 'voice'; estimated: bass, drums, vocals"),
            (("bass", "drums"), "no estimate of source 'voice'"),
            (("bass", "bass", "voice"), "two estimated sources are called 'bass'"),
            ((), "2 estimated sources for 3 reference sources"),
        ],
    )
    def test_missing_sources_are_named(self, names: tuple[str, ...], message: str) -> None:
        estimate = row(self.estimate[: len(names) or 2], names)
        assert message in refusal(row(self.reference, ("bass", "drums", "voice")), estimate)

    def test_sources_without_a_reference_are_named(self) -> None:
        message = refusal(row(self.reference[:1], ["bass"]), row(self.estimate[:2], ["bass", "choir"]))
        expected = "no reference of estimated source 'choir'; references: bass; choose with the option sources"
        assert message == expected

    def test_rates_channels_and_lengths_must_agree(self) -> None:
        good = row(self.reference, ("a", "b", "c"))
        assert refusal(good, row(self.estimate, ("a", "b", "c"), 44100.0)) == (
            "estimated source 'a' is sampled at 44100 Hz, but the first reference source 8000"
        )
        stereo = row(np.repeat(self.estimate[:, :, None], 2, axis=2))
        assert refusal(good, stereo) == "estimated source 0 has 2 channels, but the first reference source 1"
        short = of_signals([HeldSignal(self.reference[:1], RATE), HeldSignal(self.reference[1:2, :600], RATE)])
        for convention in TASK.conventions:
            assert "reference source 1 has 600 samples" in refusal(short, row(self.estimate[:2]), convention)

    @pytest.mark.parametrize(
        ("convention", "metric"),
        [(name, one) for name in TASK.conventions for one in ("usdr" if name == "mdx" else "sdr", "si_sdr")],
    )
    def test_samples_that_are_not_finite_are_refused_and_touch_no_other_pair(
        self, convention: str, metric: str
    ) -> None:
        broken = self.estimate.copy()
        broken[1, 50] = np.nan
        good = row(self.reference), row(self.estimate)
        pairs = [good, (row(self.reference), row(broken)), (row(broken), row(self.estimate)), good]
        found = score(pairs, metric, f"source_{metric}", convention=convention)
        assert set(found.refused) == {1, 2}
        assert "not a finite number" in found.refused[1]
        assert found.score[0, 0] == found.score[3, 0] == score([good], metric, convention=convention).score[0, 0]
        (extra,) = found.extras.values()
        assert set(extra.index[:, 0].tolist()) == {0, 3}

    def test_a_signal_that_breaks_off_is_refused(self) -> None:
        class Broken(HeldSignal):
            def read(self, start: int, stop: int) -> np.ndarray:
                if stop > 500:
                    raise AnnotationError("the file ends after 500 samples", path="voice.wav")
                return HeldSignal.read(self, start, stop)

        broken = of_signals([Broken(self.reference[:1], RATE)])
        flaw = TASK.convention().clean(rows(broken)).flaws[0]
        assert flaw.message == "source 0 cannot be read: voice.wav: the file ends after 500 samples"

    def test_empty_sides_have_no_score(self) -> None:
        full, nothing = row(self.reference), of_signals([])
        found = score([(full, nothing), (nothing, full), (nothing, nothing)], "sdr", "source_sdr")
        assert np.isnan(found.score).all()
        assert found.weight.tolist() == [[3.0], [0.0], [0.0]]
        assert not found.refused


class TestCleaning:
    def clean(self, *annotations: Annotation) -> Cleaned:
        return TASK.convention().clean(rows(*annotations))

    def test_silent_sources_are_named(self) -> None:
        good, silent = sources(2, 700), sources(2, 700)
        silent[1] = 0
        cleaned = self.clean(row(good, ("a", "b")), row(silent, ("bass", "voice")))
        assert {number: (flaw.item, flaw.message) for number, flaw in cleaned.flaws.items()} == {
            1: (1, "source 'voice' is silent: all its samples are 0")
        }
        assert cleaned.rows.counts[0].tolist() == [2, 0]

    def test_channels_that_cancel_count_as_silence(self) -> None:
        cancelled = sources(1, 700, channels=2)
        cancelled[:, :, 1] = -cancelled[:, :, 0]
        assert "the sum of its channels is 0" in self.clean(row(cancelled)).flaws[0].message

    def test_sources_without_samples_and_too_many_sources_are_flaws(self) -> None:
        cleaned = self.clean(row(np.zeros((1, 0))), row(np.ones((101, 3))))
        assert [flaw.message for flaw in cleaned.flaws.values()] == [
            "source 0 has no samples",
            "too many sources: 101 (at most 100)",
        ]


@pytest.mark.slow
def test_signals_that_are_read_piece_by_piece_give_the_bits_of_signals_in_memory() -> None:
    lazy = [[SyntheticSignal(seed + 10 * side, 40000) for seed in range(2)] for side in range(2)]
    sides = [of_signals(one) for one in lazy]
    held = [of_signals([HeldSignal(one.read(0, 40000), 44100.0) for one in side]) for side in lazy]
    found = score([(sides[0], sides[1]), (held[0], held[1])], "image_sdr@16", "si_sdr", "frame_sir@0.2(hop=0.4)")
    assert found.score[0].tolist() == found.score[1].tolist()
    assert dense(found, "frame_sir_0.2_hop_0.4", 0).tolist() == dense(found, "frame_sir_0.2_hop_0.4", 1).tolist()
