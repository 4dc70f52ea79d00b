"""Kinds of errors of melodies: of the voicing and of the pitch of each sample of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ragged import Bool, Float, Int, Ragged
from ..edits import RIGHT, ErrorBudget, ErrorKind
from ..measures import Measure
from . import kernel

_KINDS = (
    ErrorKind("missed_voicing", "samples with a melody that the estimate calls unvoiced"),
    ErrorKind("false_voicing", "samples without a melody that the estimate calls voiced"),
    ErrorKind("octave", "a pitch in another octave, in a voiced sample"),
    ErrorKind("pitch", "another pitch, or none, in a voiced sample"),
)
_MISSED, _FALSE, _OCTAVE, _PITCH = range(len(_KINDS))
_BASE = 10.0


@dataclass(frozen=True)
class MelodyEdits:
    """Edits of a melody that is sampled at the times of the reference: mending takes voicing or pitch from there."""

    times: Float
    voicing: tuple[Float, Float]
    frequency: tuple[Float, Float]
    """Of the reference and of the estimate: float64 (samples,); frequencies in Hz, 0 without pitch."""
    voicing_kind: Int
    pitch_kind: Int
    graded: bool
    """Whether rows have a column of voicing; otherwise, negative frequencies are unvoiced."""

    @property
    def present(self) -> Int:
        """The kinds that occur, ascending."""
        kinds = np.unique(np.concatenate([self.voicing_kind, self.pitch_kind]))
        return kinds[kinds >= 0]

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.times)

    def mend(self, kinds: Bool) -> Ragged:
        """Mend sets of kinds: a row for each set."""
        mended = np.column_stack([kinds, np.zeros(len(kinds), dtype=np.bool_)])
        voiced = np.where(mended[:, self.voicing_kind], *self.voicing)
        # A sample without a pitch takes that of the reference together with its voicing.
        silent = mended[:, self.voicing_kind] & (self.frequency[1] == 0)
        frequency = np.where(mended[:, self.pitch_kind] | silent, *self.frequency)
        columns = {"time": np.tile(self.times, len(kinds)), "frequency": frequency.ravel()}
        if self.graded:
            columns["voicing"] = voiced.ravel()
        else:
            columns["frequency"] = np.where(voiced > 0, frequency, -frequency).ravel()
        return Ragged(columns, (np.full(len(kinds), len(self.times), dtype=np.int64),))


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> MelodyEdits:
    graded, nothing = "voicing" in reference.columns, np.zeros(0)
    only, samples = np.zeros(1, dtype=np.int64), reference.counts[0][0]
    if not len(estimate.columns["time"]):  # it is silent
        blank = {name: np.zeros(min(samples, 1)) for name in estimate.columns}
        estimate = Ragged(blank, (np.array([min(samples, 1)], dtype=np.int64),))
    begins = [rows.columns["time"][0] if samples else 0.0 for rows in (reference, estimate)]
    if not samples or begins[0] < min(0.0, begins[1]):  # not scored
        none = np.zeros(0, dtype=np.int64)
        return MelodyEdits(nothing, (nothing, nothing), (nothing, nothing), none, none, graded)
    series = kernel.series_of(reference, only, _BASE, False), kernel.series_of(estimate, only, _BASE)
    frames = kernel.on_reference(*series, only, only, str(measure.parameters.get("resampling", "linear")))
    classes = kernel.classes_of(frames, float(measure.parameters.get("cent_tolerance", 50.0)))
    voiced, estimated, right, chroma = (
        classes & bit > 0 for bit in (kernel.VOICED, kernel.ESTIMATED, kernel.PITCH, kernel.CHROMA)
    )
    voicing = np.select([voiced & ~estimated, ~voiced & estimated], [_MISSED, _FALSE], RIGHT)
    if graded:
        apart = (frames.reference_voicing != frames.estimate_voicing) & (voicing == RIGHT)
        voicing[apart] = np.where(frames.reference_voicing > frames.estimate_voicing, _MISSED, _FALSE)[apart]
    pitch = np.where(voiced & ~right, np.where(chroma, _OCTAVE, _PITCH), RIGHT)
    pitch[voiced & ~estimated & (frames.estimate_cents == 0)] = RIGHT
    cents = frames.reference_cents, frames.estimate_cents
    hertz = [np.where(one == 0, 0.0, _BASE * np.exp2(one / 1200.0)) for one in cents]
    sides = (frames.reference_voicing, frames.estimate_voicing), (hertz[0], hertz[1])
    return MelodyEdits(frames.times, *sides, voicing, pitch, graded)


MELODIES = ErrorBudget(_KINDS, _align)
