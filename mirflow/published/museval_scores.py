"""Scores of museval: a JSON file for each track, with the values of each source in each frame."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import InvalidAnnotationError
from ..metrics.base import Sparse, get_task
from ..metrics.measures import Measure
from ..metrics.separation.metrics import median_over_frames
from ..ragged import Float

MUSEVAL = "museval"
METRICS: Mapping[str, str] = {"SDR": "sdr", "ISR": "isr", "SIR": "sir", "SAR": "sar"}
"""museval's names, and ours."""


def museval_measures(prefix: str = "") -> tuple[Measure, ...]:
    """The measures of museval's files: of tracks, or with ``source_`` or ``frame_`` of sources or frames."""
    return get_task("separation").convention(MUSEVAL).select([f"{prefix}{name}" for name in METRICS.values()])


def read_museval(text: str, name: str) -> tuple[tuple[str, ...], dict[str, Float]]:
    """Read the text of one file of museval.

    Parameters
    ----------
    text : str
    name : str
        The file, for messages.

    Returns
    -------
    sources : tuple of str
    values : dict of str to float64 (sources, frames)
        By our names of the metrics, in dB; NaN where a file has none.

    Raises
    ------
    InvalidAnnotationError
        If the text is not such a file.

    Examples
    --------
    >>> frame = '{"time": 0.0, "duration": 1.0, "metrics": {"SDR": 5.5, "ISR": 9, "SIR": 8, "SAR": NaN}}'
    >>> sources, values = read_museval('{"targets": [{"name": "vocals", "frames": [%s]}]}' % frame, "a.json")
    >>> sources, values["sdr"].tolist()
    (('vocals',), [[5.5]])
    """
    try:
        targets = json.loads(text)["targets"]
        sources = tuple(str(target["name"]) for target in targets)
        frames = [[frame["metrics"] for frame in target["frames"]] for target in targets]
        values = {
            ours: [[_number(frame.get(theirs)) for frame in rows] for rows in frames]
            for theirs, ours in METRICS.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        message = f"is not a file of museval, {{targets: [{{name, frames: [{{metrics: {{SDR, ...}}}}]}}]}} ({why})"
        raise InvalidAnnotationError(message, path=name) from None
    if not sources or len(set(sources)) < len(sources):
        raise InvalidAnnotationError(
            f"the targets are {', '.join(sources) or 'none'}: expected distinct ones", path=name
        )
    most = max(map(len, frames))
    padded = {ours: [[*row, *[np.nan] * (most - len(row))] for row in rows] for ours, rows in values.items()}
    return sources, {
        ours: np.array(rows, dtype=np.float64).reshape(len(sources), most) for ours, rows in padded.items()
    }


def _number(value: object) -> float:
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a score is not a number: {value!r}")
    return float(value)


@dataclass
class MusevalScores:
    """The files of a group while they are read, by system and track."""

    files: dict[tuple[str, str], tuple[tuple[str, ...], dict[str, Float]]] = field(default_factory=dict)

    def tracks(self) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
        """Of each file the scores of the track: the mean over the sources of their medians over the frames."""
        for cell, (_, values) in self.files.items():
            medians = {name: median_over_frames(of_frames) for name, of_frames in values.items()}
            yield cell, {name: float(of_sources.mean()) for name, of_sources in medians.items()}

    def extras(self, systems: Sequence[str], tracks: Sequence[str]) -> dict[str, Sparse]:
        """The values of sources and of frames, along the cells (systems, tracks), system by system."""
        if not self.files:
            return {}
        sources = tuple(dict.fromkeys(source for names, _ in self.files.values() for source in names))
        most = max(next(iter(values.values())).shape[1] for _, values in self.files.values())
        shape = len(systems) * len(tracks), len(sources), most
        found = {}
        for measure, of_sources in zip(museval_measures("frame_"), museval_measures("source_"), strict=True):
            dense = np.full(shape, np.nan)
            name = measure.metric.name.removeprefix("frame_")
            for (system, track), (names, values) in self.files.items():
                cell = systems.index(system) * len(tracks) + tracks.index(track)
                rows = [sources.index(source) for source in names]
                dense[cell, rows, : values[name].shape[1]] = values[name]
            coords = sources, tuple(f"{frame:06d}" for frame in range(most))
            found[measure.variable] = _sparse(measure, coords, dense)
            medians = median_over_frames(dense.reshape(-1, most)).reshape(shape[:2])
            found[of_sources.variable] = _sparse(of_sources, coords[:1], medians)
        return found


def _sparse(measure: Measure, coords: tuple[tuple[str, ...], ...], dense: Float) -> Sparse:
    index = np.argwhere(~np.isnan(dense)).astype(np.int64)
    attrs = {"long_name": measure.metric.title, "units": measure.metric.unit or "1", "metric": str(measure)}
    return Sparse(measure.metric.dims, coords, index, dense[tuple(index.T)], attrs, np.nan)
