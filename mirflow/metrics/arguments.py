"""Arguments of functions over one pair that users declare: rows as plain arrays in mir_eval's order, or as datasets.

The share of the first of two tempi in their salience is computed here for the metrics of tempo as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.annotation import from_ragged
from ..annotations.labelled import to_dataset
from ..annotations.schema import kind_of
from ..kernels.ratios import divide
from ..ragged import Float, Ragged

Value = Callable[[Ragged], Any]  # A single row -> one argument


def _column(name: str, row: Ragged) -> Float:
    """A column of numbers: float64 (items,), NaN if the rows do not have it."""
    column = row.columns.get(name)
    return np.full(int(row.counts[-1].sum()), np.nan) if column is None else np.array(column, dtype=np.float64)


def _columns(names: Sequence[str], row: Ragged) -> Float:
    return np.column_stack([_column(name, row) for name in names])


_intervals = partial(_columns, ("start", "end"))
_times, _pitches, _frequencies = (partial(_column, name) for name in ("time", "pitch", "frequency"))


def _labels(row: Ragged) -> list[str]:
    codes = row.columns.get("label")
    if codes is None:
        return [""] * int(row.counts[-1].sum())
    names = [*row.labels, ""]  # the last one is for items without a label
    return [names[code] for code in codes.tolist()]


def _label(row: Ragged) -> str:
    return next(iter(_labels(row)), "")


def _by_level(value: Value, row: Ragged) -> list[Any]:
    """List the value of each item of the outermost dim."""
    whole, ends = value(row), np.cumsum(row.counts[1])
    return [whole[end - count : end] for end, count in zip(ends.tolist(), row.counts[1].tolist(), strict=True)]


def _patterns(row: Ragged) -> list[list[list[tuple[float, float]]]]:
    """Patterns of occurrences of (onset, pitch), as returned by ``mir_eval.io.load_patterns``."""
    notes = iter(zip(row.columns["onset"].tolist(), row.columns["pitch"].tolist(), strict=True))
    sizes = iter(row.counts[2].tolist())
    return [[[next(notes) for _ in range(next(sizes))] for _ in range(count)] for count in row.counts[1].tolist()]


def _share(row: Ragged) -> float:
    """Share of the first tempo in the total salience; 1 for a single tempo."""
    salience = _column("salience", row)
    return float(first_share(salience[np.newaxis])[0]) if len(salience) == 2 else float(len(salience) > 0)


def first_share(salience: Float) -> Float:
    """Share of the first of two tempi in their total salience: float64 (n,).

    Two tempi without a salience weigh the same. If only one has a salience, it is taken as its share.

    `salience` (float64 (n, 2)): NaN if not given.

    Examples
    --------
    >>> first_share(np.array([[0.5, 1.5], [0.3, np.nan], [np.nan, np.nan]])).tolist()
    [0.25, 0.3, 0.5]
    """
    missing = np.isnan(salience)
    rest = np.maximum(1 - salience[:, ::-1], 0)
    salience = np.where(missing, rest, salience)
    salience = np.where(salience.max(axis=1, keepdims=True) > 1e300, salience / 4, salience)  # whose sum would overflow
    total = salience.sum(axis=1)
    unknown = missing.all(axis=1) | (total == 0)
    return divide(salience[:, 0], total, 0.5, where=~unknown)


def _numbered(row: Ragged) -> list[str] | dict[str, float]:
    """Names, or a mapping of names to numbers if there are any."""
    names, numbers = _labels(row), row.columns.get("value")
    if numbers is None or np.isnan(numbers).all():
        return names
    return dict(zip(names, numbers.tolist(), strict=True))


def _table(row: Ragged) -> dict[str, Any]:
    """All columns by name."""
    columns: dict[str, Any] = {name: np.array(column) for name, column in row.columns.items() if name != "label"}
    return {"label": _labels(row), **columns}


def _sources(row: Ragged) -> Float:
    """Samples: float64 (sources, samples), or (sources, samples, channels) where there are several channels."""
    signals: list[Any] = row.columns["signal"].tolist()
    frames, channels = (max((getattr(one, name) for one in signals), default=0) for name in ("frames", "channels"))
    samples = np.zeros((len(signals), frames, channels))
    for index, signal in enumerate(signals):
        samples[index, : signal.frames] = signal.read(0, signal.frames).T
    return samples[:, :, 0] if channels < 2 else samples


@dataclass(frozen=True, slots=True)
class ArgumentLayout:
    """Arguments of a function over one pair."""

    reference: Mapping[str, Value]
    estimate: Mapping[str, Value]  # Functions from a single row to an argument, by the name of the argument

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all arguments, in order."""
        return (*(f"reference_{name}" for name in self.reference), *(f"estimated_{name}" for name in self.estimate))

    def arguments(self, reference: Ragged, estimate: Ragged) -> list[Any]:
        """Make all arguments from a single row of either side, as copies."""
        values = [value(reference) for value in self.reference.values()]
        return [*values, *(value(estimate) for value in self.estimate.values())]


_NOTE = ("time", "position", "pitch")
_LAYOUTS: Mapping[str, Sequence[ArgumentLayout | Mapping[str, Value]]] = MappingProxyType(
    {
        "events": ({"times": _times}, {"times": _times, "labels": _labels}),
        "intervals": ({"intervals": _intervals, "labels": _labels}, {"intervals": _intervals}),
        "hierarchy": (
            {"intervals_hier": partial(_by_level, _intervals), "labels_hier": partial(_by_level, _labels)},
            {"intervals_hier": partial(_by_level, _intervals)},
        ),
        "notes": (
            {"intervals": _intervals, "pitches": _pitches},
            {"intervals": _intervals, "pitches": _pitches, "velocities": partial(_column, "velocity")},
            {"intervals": _intervals},
        ),
        "series": ({"time": _times, "frequency": _frequencies},),
        "multipitch": ({"time": _times, "frequencies": partial(_by_level, _frequencies)},),
        "patterns": ({"patterns": _patterns},),
        "tempo": (
            ArgumentLayout(
                {"tempi": lambda row: np.append(row.columns["tempo"][:2], np.zeros(2))[:2], "weight": _share},
                # A single tempo is repeated.
                {"tempi": lambda row: np.resize(row.columns["tempo"], 2 * bool(len(row.columns["tempo"])))},
            ),
        ),
        "key": ({"key": _label},),
        "labels": ({"labels": _numbered},),
        "ranking": ({"items": _numbered},),
        "judgements": ({"judgements": _table},),
        "following": (
            ArgumentLayout(
                {"notes": partial(_columns, _NOTE)}, {"notes": partial(_columns, ("time", "detected", *_NOTE[1:]))}
            ),
        ),
        "note_alignment": ({"entries": _table},),
        "hits": ({"times": _times, "drums": _labels},),
        "text": ({"text": lambda row: "\n".join(_labels(row))},),
        "pedals": ({"intervals": _intervals, "pedals": _labels},),
        "sheet_music": ({"rows": _table},),
        "audio": ({"sources": _sources},),
    }
)
_OF_TASKS: Mapping[str, Sequence[Mapping[str, Value]]] = MappingProxyType({"classification": ({"label": _label},)})


def datasets_of(task: str) -> ArgumentLayout:
    """Arguments of functions over one pair of labelled datasets, as :func:`mirflow.load` returns them."""
    kind = kind_of(task).name
    annotation: Mapping[str, Value] = {"annotation": lambda row: to_dataset(from_ragged(kind, row, 0, {"task": task}))}
    return ArgumentLayout(annotation, annotation)


def layouts_of(task: str) -> Sequence[ArgumentLayout]:
    """Possible arguments of functions over one pair, distinguished by their number; the usual form first."""
    layouts = _OF_TASKS.get(task, _LAYOUTS[kind_of(task).name])
    return [each if isinstance(each, ArgumentLayout) else ArgumentLayout(each, each) for each in layouts]
