"""What an estimate consists of: its source, spatial distortion, interference and artifacts, as energies.

E. Vincent, R. Gribonval and C. Fevotte, "Performance measurement in blind audio source separation", IEEE Trans. Audio,
Speech and Language Processing 14(4), 2006; with several channels as in E. Vincent et al., "First stereo audio source
separation evaluation campaign", ICA 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.correlations import correlate
from ...kernels.filtering import Bank, Filters
from ...kernels.projection import DelaySpan
from ...ragged import Float
from .recording import Recording

FILTERS_LENGTH = 512
"""Taps of the filters that count as spatial distortion, in mir_eval and in the toolboxes before it."""

Meeting = tuple[int, int]
"""An estimated source and a reference source."""


@dataclass(frozen=True, slots=True)
class Energies:
    """Energies of the parts of estimated sources e, each against a reference source s.

    p is the projection of e onto the delays of s (of all its channels), q that onto the delays of all sources. All are
    summed in time from the parts themselves: differences of energies would be lost in rounding from 60 dB on.

    Parameters
    ----------
    source, filtered, joint : float64 (meetings,)
        Of s, p and q.
    image_error, spatial, residual, interference, artifacts : float64 (meetings,)
        Of e - s, p - s, e - p, q - p and e - q.
    """

    source: Float
    filtered: Float
    joint: Float
    image_error: Float
    spatial: Float
    residual: Float
    interference: Float
    artifacts: Float


class References:
    """Reference sources, ready to be met by the estimates of any number of systems.

    Parameters
    ----------
    recording : Recording
    lags : int
        Taps of the filters.

    Attributes
    ----------
    finite : bool
        Whether there are numbers to work with: no sample is infinite or NaN, or so large that its square is.
    """

    def __init__(self, recording: Recording, lags: int) -> None:
        self.recording, self.lags = recording, lags
        self._correlations = correlate(recording.read, recording.read, recording.frames, lags)
        self.finite = bool(np.isfinite(self._correlations).all())
        self._own: dict[int, DelaySpan] = {}

    @cached_property
    def joint(self) -> DelaySpan:
        """The space of all sources' delays."""
        return self._span(slice(None))

    def own(self, source: int) -> DelaySpan:
        """The space of one source's delays."""
        if len(self.recording) == 1:
            return self.joint
        if source not in self._own:
            self._own[source] = self._span(self.recording.rows(source))
        return self._own[source]

    def _span(self, rows: slice) -> DelaySpan:
        return DelaySpan(self._correlations[rows, rows])


class Projections:
    """The filters that project estimates onto references.

    Parameters
    ----------
    references : References
    estimates : Recording
        With as many channels and samples.
    meetings : sequence of (int, int)
        Which estimated source is projected onto which reference source; onto all of them each is projected anyway.
    """

    def __init__(self, references: References, estimates: Recording, meetings: Sequence[Meeting]) -> None:
        heard = references.recording
        found = correlate(heard.read, estimates.read, heard.frames, references.lags)
        self.meetings = tuple(meetings)
        self.finite = bool(np.isfinite(found).all())
        self._filters: Filters | None = None
        if not self.finite:
            return
        self._all = references.joint.filters(found)
        self._alone = [
            references.own(source).filters(found[heard.rows(source), estimates.rows(estimate)])
            for estimate, source in self.meetings
        ]

    def energies(self, references: Recording, estimates: Recording) -> Energies:
        """The energies of the parts, in the whole recording or a stretch of it that is taken for a whole."""
        if self._filters is None or self._filters.blocks.frames != references.frames:
            self._filters = Filters(references.frames, self._banks(references, estimates))
        sums = np.zeros((len(Energies.__dataclass_fields__), len(self.meetings)))
        several = len(references) > 1
        groups = self._groups(len(estimates), several)
        for start, stop, outputs in self._filters.run(references.read, [group for group, _ in groups]):
            inside = min(stop, references.frames)
            true, heard = (
                np.pad(side.read(start, inside), ((0, 0), (0, stop - inside))) for side in (references, estimates)
            )
            for (_, members), found in zip(groups, outputs, strict=True):
                for place, meeting in enumerate(members):
                    estimate, source = self.meetings[meeting]
                    own = found[place + several]
                    one = true[references.rows(source)], heard[estimates.rows(estimate)], own, found[0]
                    sums[:, meeting] += _energies(*one)
        return Energies(*sums)

    def _banks(self, references: Recording, estimates: Recording) -> list[Bank]:
        """Those of the projections onto single sources, then those onto all sources."""
        banks: list[Bank] = [
            (references.rows(source), taps) for (_, source), taps in zip(self.meetings, self._alone, strict=True)
        ]
        if len(references) > 1:
            banks += [(slice(None), self._all[estimates.rows(estimate)]) for estimate in range(len(estimates))]
        return banks

    def _groups(self, estimates: int, several: bool) -> list[tuple[list[int], list[int]]]:
        """For each estimated source its banks, that of all sources first (the only source is all), and its meetings."""
        groups = []
        for estimate in range(estimates):
            own = [number for number, (one, _) in enumerate(self.meetings) if one == estimate]
            if own:
                groups.append(([len(self.meetings) + estimate, *own] if several else own, own))
        return groups


def _energies(source: Float, heard: Float, own: Float, joint: Float) -> list[float]:
    """Energies in the order of the fields of `Energies`."""
    parts = (source, own, joint, heard - source, own - source, heard - own, joint - own, heard - joint)
    return [float(np.einsum("ij,ij->", part, part)) for part in parts]
