"""Melodies on one time grid."""

from __future__ import annotations

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, UnknownNameError
from mirflow.metrics import melody

rng = np.random.default_rng(3)


def series(times: list[float], frequencies: list[float], **columns: np.ndarray) -> Annotation:
    return Annotation("series", {"time": np.array(times), "frequency": np.array(frequencies), **columns})


STEP = series([0.0, 1.0, 2.0], [200.0, 400.0, 0.0])
LATE = series([0.5, 1.5], [300.0, -300.0])


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
    own, other = np.arange(50) * 0.01, np.sort(rng.uniform(0.0, 0.6, 40))
    other[0] = 0.0
    pitch = rng.uniform(100, 400, 40) * rng.choice([1, 1, 0, -1], 40)
    reference, estimate = (
        series(own.tolist(), rng.uniform(100, 400, 50).tolist()),
        series(other.tolist(), pitch.tolist()),
    )
    found = mirflow.align([reference, estimate], "reference")
    with pytest.warns(mirflow.errors.MirflowWarning, match="Non-uniform"):
        _, _, voicing, cents = melody.to_cent_voicing(own, reference.columns["frequency"], other, pitch)
    assert found.voicing.values[1].tolist() == voicing.tolist()
    heard = np.where(cents == 0, 0.0, 10.0 * 2 ** (cents / 1200))
    np.testing.assert_allclose(found.frequency.values[1], heard, rtol=1e-12)
    assert found.frequency.values[0].tolist() == reference.columns["frequency"].tolist()


def test_a_melody_without_samples_is_silent() -> None:
    both = mirflow.align([STEP, series([], [])], {"hop": 1.0})
    assert both.frequency.values[1].tolist() == both.voicing.values[1].tolist() == [0.0, 0.0, 0.0]


def test_what_cannot_be_aligned_is_refused() -> None:
    with pytest.raises(AnnotationError, match=r"est: frequency is not finite: nan"):
        mirflow.align([STEP, series([0.0], [np.nan])], names=["ref", "est"])
    with pytest.raises(UnknownNameError, match="unknown resampling 'cubic'"):
        mirflow.align([STEP, LATE], resampling="cubic")
    with pytest.raises(AnnotationError, match="frames of 1e-09 s are more than"):
        mirflow.align([STEP, LATE], {"hop": 1e-9})
    notes = Annotation("notes", {name: np.ones(1) for name in ("start", "end", "pitch")})
    with pytest.raises(AnnotationError, match=r"share a grid, not notes; mirflow\.explain"):
        mirflow.align([notes, notes])
