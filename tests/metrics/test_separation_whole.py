"""Ratios and spectra of whole tracks, silent sources, and stems that vary by track."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.audio import HeldSignal
from mirflow.metrics import separation
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.separation.kernel import RESOLUTIONS
from tests.metrics.recordings import mixed, museval, of_signals, row, rows, sources

TASK = get_task("separation")
shapes = st.tuples(st.integers(1, 3), st.sampled_from([1100, 2500, 5000]), st.sampled_from([0, 1, 2]))


def score(reference: Annotation, estimate: Annotation, convention: str, *metrics: str) -> Scores:
    rules = TASK.convention(convention)
    sides = [rules.clean(rows(side)) for side in (reference, estimate)]
    assert not sides[0].flaws
    assert not sides[1].flaws
    return rules.score(Pairs.in_order(sides[0].rows, sides[1].rows), rules.select(metrics or None), "union")


def by_source(scores: Scores, variable: str) -> dict[str, float]:
    sparse = scores.extras[variable]
    return {
        sparse.coords[0][place]: value
        for (_, place), value in zip(sparse.index.tolist(), sparse.value.tolist(), strict=True)
    }


def plain_usdr(reference: np.ndarray, estimate: np.ndarray, eps: float) -> list[float]:
    pairs = zip(reference, estimate, strict=True)
    return [10 * np.log10((np.sum(s**2) + eps) / (np.sum((s - e) ** 2) + eps)) for s, e in pairs]


def plain_magnitudes(signal: np.ndarray, size: int, hop: int, width: int) -> np.ndarray:
    """A frame at a time, as the definition has it: mirrored by half a transform, the window in the middle."""
    window = np.zeros(size)
    window[(size - width) // 2 :][:width] = np.hanning(width + 1)[:width]
    padded = np.pad(signal, size // 2, mode="reflect")
    frames = [np.fft.rfft(window * padded[start : start + size]) for start in range(0, len(signal) + 1, hop)]
    return np.sqrt(np.maximum(np.abs(np.array(frames)) ** 2, 1e-8))


def plain_distances(reference: np.ndarray, estimate: np.ndarray) -> list[float]:
    """Convergence, difference of logarithms and of magnitudes of one channel, means over the resolutions."""
    found = []
    for resolution in RESOLUTIONS:
        first, second = (plain_magnitudes(side, *resolution) for side in (reference, estimate))
        convergence = np.linalg.norm(first - second) / np.linalg.norm(first)
        found.append([convergence, np.mean(np.abs(np.log(first) - np.log(second))), np.mean(np.abs(first - second))])
    return np.mean(found, axis=0).tolist()


class TestWholeTracks:
    @settings(deadline=None, max_examples=20)
    @given(shape=shapes, eps=st.sampled_from([0.0, 1e-7, 1.0]), seed=st.integers(0, 9))
    def test_usdr_is_its_formula(self, shape: tuple[int, int, int], eps: float, seed: int) -> None:
        reference = sources(shape[0], shape[1], seed, shape[2])
        estimate = mixed(reference, seed + 1)
        expected = plain_usdr(reference, estimate, eps)
        assert separation.usdr(reference, estimate, eps).tolist() == pytest.approx(expected, abs=1e-9)
        for convention in TASK.conventions:
            found = score(row(reference), row(estimate), convention, f"usdr@{eps}", f"source_usdr@{eps}")
            assert found.score[0, 0] == pytest.approx(np.mean(expected), abs=1e-9)
            (values,) = found.extras
            assert list(by_source(found, values).values()) == pytest.approx(expected, abs=1e-9)

    def test_names_of_challenges_and_papers_mean_the_same(self) -> None:
        names = ["mdx_sdr", "sdx_sdr", "nsdr", "uSDR"]
        assert {str(one) for one in TASK.convention("mdx").select(names)} == {"usdr"}
        assert [str(one) for one in TASK.convention("museval").select(["csdr", "SDR", "ISR"])] == ["sdr", "isr"]
        assert [str(one) for one in TASK.convention("mdx").select()] == ["usdr"]

    @settings(deadline=None, max_examples=6)
    @given(shape=shapes, seed=st.integers(0, 9))
    def test_spectral_distances_are_their_formulas(self, shape: tuple[int, int, int], seed: int) -> None:
        reference = sources(shape[0], shape[1], seed, shape[2])
        estimate = mixed(reference, seed + 1)
        stereo = [np.atleast_3d(side).transpose(0, 2, 1) for side in (reference, estimate)]
        parts = np.array(
            [
                np.mean([plain_distances(*pair) for pair in zip(*one, strict=True)], axis=0)
                for one in zip(*stereo, strict=True)
            ]
        )
        wanted = (parts[:, 0] + parts[:, 1]).tolist()
        assert separation.mrstft(reference, estimate).tolist() == pytest.approx(wanted, rel=1e-9)
        identity = "mrstft(convergence=0.5,linear=2.0)"
        found = score(row(reference), row(estimate), "mdx", "mrstft", identity).score[0]
        weighted = parts @ [0.5, 1.0, 2.0]
        assert found.tolist() == pytest.approx([np.mean(wanted), weighted.mean()], rel=1e-9)

    def test_frames_that_are_read_alone_are_those_of_the_whole_signal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mirflow.metrics.separation.kernel._VALUES", 1)
        _, hop, width = RESOLUTIONS[0]
        reference = sources(1, 16 * hop + width // 2 - 1)  # a frame needs one sample beyond the end
        wanted = np.sum(plain_distances(reference[0], mixed(reference)[0])[:2])
        assert separation.mrstft(reference, mixed(reference)).tolist() == pytest.approx([wanted], rel=1e-9)

    def test_what_is_too_short_for_a_spectrum_has_no_distance(self) -> None:
        short = sources(2, 1024)
        found = score(row(short), row(mixed(short)), "mdx", "mrstft", "usdr")
        assert np.isnan(found.score[0, 0])
        assert found.weight[0].tolist() == [0, 2]

    def test_spectra_of_what_is_not_finite_are_refused(self) -> None:
        broken = sources(1, 2000)
        broken[0, 700] = np.inf
        assert (
            "sample 700 (0.087 s) is not a finite number" in score(row(broken), row(broken), "mdx", "mrstft").refused[0]
        )

    def test_arrays_that_differ_are_refused(self) -> None:
        good = sources(2, 1200)
        for bad in (good[:1], good[:, :1100], np.where(good > 3, np.nan, good)):
            with pytest.raises(ValueError, match=r"on both sides|not a finite number"):
                separation.usdr(good, bad)
        assert separation.si_sdr(good, 0.5 * good + 0.1 * mixed(good)).shape == (2,)


def test_channels_of_a_superfluous_source_do_not_matter() -> None:
    reference = sources(2, 2400, channels=2)
    estimate, names = mixed(reference), ("bass", "drums")
    signals = [HeldSignal(one, 8000.0) for one in (estimate[0, :, :1].T, *estimate.transpose(0, 2, 1))]
    alone = score(row(reference, names), row(estimate, names), "museval", "sdr")
    beside = score(row(reference, names), of_signals(signals, ("other", *names)), "museval", "sdr")
    assert beside.score.tolist() == alone.score.tolist()


class TestSilence:
    """A silent source has no score, the others have theirs: museval raises for the whole track."""

    reference = sources(3, 2400, channels=1)[:, :, 0]
    estimate = mixed(reference)
    names = ("bass", "drums", "vocals")

    def silenced(self, which: int) -> np.ndarray:
        silenced = self.reference.copy()
        silenced[which] = 0
        return silenced

    @pytest.mark.parametrize("filters", ["track", "frame"])
    def test_others_score_as_if_a_silent_reference_were_not_there(self, filters: str) -> None:
        sides = row(self.silenced(1), self.names), row(self.estimate, self.names)
        metrics = "sdr", "source_sdr", "sir", "si_sdr", "usdr", "source_usdr"
        asked = [
            f"{one}(filters={filters})"
            if one.endswith(("sir", "_sdr", "sdr")) and one not in ("si_sdr", "usdr", "source_usdr")
            else one
            for one in metrics
        ]
        found = score(*sides, "museval", *asked)
        kept = [0, 2]
        alone = score(row(self.reference[kept]), row(self.estimate[kept]), "museval", *asked)
        assert found.score.tolist() == alone.score.tolist()
        assert found.weight.tolist() == [[2.0] * 4]
        assert by_source(found, "source_usdr_1e-07").keys() == {"bass", "vocals"}
        assert found.partly == {0: "reference: 'drums': silent, not scored"}
        assert not found.refused

    def test_the_others_are_musevals(self) -> None:
        sides = row(self.silenced(1), self.names), row(self.estimate, self.names)
        found = score(*sides, "museval", "source_sdr@0.1(hop=0.1)")
        expected = museval().bss_eval(self.reference[[0, 2]], self.estimate[[0, 2]], 800, 800)[0]
        values = by_source(found, "source_sdr_0.1_hop_0.1")
        assert list(values) == ["bass", "vocals"]
        assert list(values.values()) == pytest.approx(np.median(expected, axis=1).tolist(), abs=1e-9)

    @pytest.mark.parametrize("filters", ["track", "frame"])
    def test_a_silent_estimate_has_no_parts(self, filters: str) -> None:
        """Its source still interferes with others, and the whole track has a ratio of energies: 0 dB."""
        silent = self.estimate.copy()
        silent[1] = 0
        asked = f"source_sdr(filters={filters})", f"source_sir(filters={filters})", "source_si_sdr", "source_usdr"
        found = score(row(self.reference, self.names), row(silent, self.names), "museval", *asked)
        whole = score(row(self.reference, self.names), row(self.estimate, self.names), "museval", *asked)
        for variable in found.extras:
            values, others = by_source(found, variable), by_source(whole, variable)
            assert {one: values[one] for one in ("bass", "vocals")} == {one: others[one] for one in ("bass", "vocals")}
            assert values.get("drums", 0.0) == 0.0
            assert ("drums" in values) == ("usdr" in variable)
        assert found.partly == {0: "estimate: 'drums': silent, ratios of its parts are undefined"}

    def test_cells_have_the_scores_of_the_others_and_a_message(self) -> None:
        references = {"whole": row(self.reference, self.names), "part": row(self.silenced(2), self.names)}
        system = {track: row(self.estimate, self.names) for track in references}
        scores = mirflow.score(references, {"one": system}, "separation", convention="mdx", metrics=["source_usdr"])
        assert scores.message.sel(system="one").values.tolist() == [
            "",
            "reason (reference): reference part: 'vocals': silent, not scored",
        ]
        found = scores.mirflow.query("source_usdr", aggregate="mean").value.squeeze()
        expected = separation.usdr(self.reference, self.estimate)
        assert found.sel(source="vocals").item() == pytest.approx(expected[2], abs=1e-12)

    def test_nothing_but_silence_is_refused(self) -> None:
        found = score(row(0 * self.reference), row(self.estimate), "mdx")
        assert found.refused == {0: "reference: all sources are silent, so there is nothing to score"}
        assert np.isnan(separation.usdr(self.silenced(0), self.estimate)).tolist() == [True, False, False]
        assert np.isnan(separation.si_sdr(self.estimate, self.silenced(0))).tolist() == [True, False, False]

    def test_mir_eval_refuses_it(self) -> None:
        assert TASK.convention().clean(rows(row(self.silenced(0)))).flaws[0].message.startswith("source 0 is silent")


class TestStems:
    """Stems that vary by track."""

    def test_estimates_of_what_the_track_has_not_are_left_out_and_counted(self) -> None:
        reference = sources(3, 1200)
        estimate = mixed(reference)
        less = row(reference[:2], ("bass", "drums")), row(estimate, ("bass", "drums", "piano"))
        same = row(reference[:2], ("bass", "drums")), row(estimate[:2], ("bass", "drums"))
        for convention in ("museval", "mdx"):
            found, expected = (score(*sides, convention) for sides in (less, same))
            assert found.score.tolist() == expected.score.tolist()
            assert found.repairs.tolist() == [1]
        assert "no reference of estimated source 'piano'" in score(*less, "mir_eval").refused[0]

    def test_what_is_not_estimated_is_refused(self) -> None:
        reference = sources(2, 1200)
        sides = row(reference, ("bass", "drums")), row(reference[:1], ("bass",))
        assert "no estimate of source 'drums'" in score(*sides, "mdx").refused[0]

    def test_each_track_has_its_own(self) -> None:
        reference = sources(3, 1200)
        estimate = mixed(reference)
        own = [("bass", "drums"), ("bass", "piano")]
        sides = [rows(*(row(side[:2], names) for names in own)) for side in (reference, estimate)]
        rules = TASK.convention("mdx")
        found = rules.score(Pairs.in_order(*sides), rules.select(["usdr", "source_usdr"]), "union")
        assert not found.refused
        (sparse,) = found.extras.values()
        assert sparse.coords == (("bass", "drums", "piano"),)
        assert sparse.index.tolist() == [[0, 0], [0, 1], [1, 0], [1, 2]]
