"""Disagreements of references with systems that agree with each other.

Labels are compared as classes: chords as major and minor triads, keys as such, sections by name. How probable the
systems' class is follows from the model of Dawid and Skene over all tracks, in which systems differ in what they
confuse. Events, and boundaries of sections, agree within the window of their task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import QueryError, name_some
from ..kernels.agreement import fit_latent_classes
from ..ragged import Float, Int
from ..theory.chords import encode_vocabulary
from ..theory.keys import parse_key

WINDOWS: Mapping[str, float] = MappingProxyType({"beat": 0.07, "downbeat": 0.07, "onset": 0.05, "segment": 0.5})
"""Seconds within which events of a task, or boundaries, are the same."""
SHORTEST = 0.3
"""Seconds that labels must differ for a disagreement: shorter ones are matters of precision."""
_APART = 2.0
"""Seconds from which events that disagree are two disagreements."""
_SHOWN = 4
"""Events that a disagreement names."""
OTHER = -1
"""Class of labels that are not compared."""
_TRIADS = {0b10010001: 0, 0b10001001: 12}
"""Semitones above the root up to the fifth and minor sixth, as bits, of major and minor triads."""


@dataclass(frozen=True)
class TrackAnnotations:
    """The annotations of one track: a reference, and the estimates of systems that have one."""

    track: str
    reference: Annotation
    estimates: Mapping[str, Annotation]
    annotator: str = ""
    """Of the reference, if the track has several."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A place at which systems agree with each other and not with the reference."""

    track: str
    start: float
    end: float
    """In seconds; NaN for annotations without times."""
    reference: str
    consensus: str
    """What each side says: a label, or times of events; empty: nothing."""
    systems: int
    """Systems that say so."""
    of: int
    """Systems that have an estimate."""
    agreement: float
    """Probability of the systems' class, or share of the systems."""
    weight: float
    """Length in seconds, or number of events, times agreement."""
    missing: tuple[float, ...] = field(default=(), repr=False)
    extra: tuple[float, ...] = field(default=(), repr=False)
    """Times of events that the systems have and the reference lacks, and the other way round."""
    annotator: str = ""
    """Of the reference, if the track has several."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """Names of the systems that agree."""


def find_disagreements(
    task: str, tracks: Sequence[TrackAnnotations], least: float = 1.0, shortest: float = SHORTEST
) -> list[Disagreement]:
    """Find where systems agree against the references of a task, the heaviest disagreement first.

    `tracks`: those with fewer than two estimates have no disagreements. `least`: share of the systems that must say the
    same; of events it is always all of them. `shortest`: seconds from which labels that differ are listed. Raises
    `QueryError` if annotations of the task are neither labels nor events.

    Examples
    --------
    >>> def chords(*labels):
    ...     start = np.arange(float(len(labels)))
    ...     return Annotation("intervals", {"start": start, "end": start + 1}, list(labels))
    >>> track = TrackAnnotations("a", chords("C", "G"), {"x": chords("C", "E:min"), "y": chords("C:7", "E:min7")})
    >>> [(one.start, one.end, one.reference, one.consensus) for one in find_disagreements("chord", [track])]
    [(1.0, 2.0, 'G', 'E:min')]
    """
    held = [track for track in tracks if len(track.estimates) > 1]
    # Most names of sections in estimates, of three letters or more, may be in the references, too.
    labels = {label.lower() for track in held for label in track.reference.labels or ()}
    estimates = [estimate for track in held for estimate in track.estimates.values()]
    others = [label.lower() for estimate in estimates for label in dict.fromkeys(estimate.labels or ())]
    by_boundaries = 2 * sum(label in labels and len(label) > 2 for label in others) <= len(others)
    if task in _CLASSES and not (task == "segment" and by_boundaries):
        disagreements = _label_disagreements(held, _CLASSES[task], least, shortest)
    elif task in WINDOWS:
        disagreements = [one for track in held for one in _event_disagreements(track, WINDOWS[task])]
    else:
        tasks = ", ".join(sorted({*_CLASSES, *WINDOWS}))
        raise QueryError(
            f"no consensus for task {task}: its annotations are neither labels nor events; choose from {tasks}"
        )
    return sorted(disagreements, key=lambda one: (-one.weight, one.track, one.start))


def _triads(labels: Sequence[str]) -> Int:
    """Classes of chords: major and minor by root, N; others are not compared."""
    table = encode_vocabulary(labels)
    low = table.pitches.astype(np.int64) & 0xFF
    kind = np.select([low == mask for mask in _TRIADS], list(_TRIADS.values()), OTHER)
    classes = np.where(kind == OTHER, OTHER, kind + table.root.astype(np.int64))
    silent = (table.root < 0) & ~table.undefined
    silent[list(table.invalid)] = False
    return np.where(silent, 24, np.where(table.undefined | (table.root < 0), OTHER, classes))


def _keys(labels: Sequence[str]) -> Int:
    parsed = [parse_key(label) for label in labels]
    return np.array([OTHER if key is None else key.code for key in parsed], dtype=np.int64)


def _names(labels: Sequence[str]) -> Int:
    codes_of = {name: code for code, name in enumerate(dict.fromkeys(label.lower() for label in labels))}
    return np.array([codes_of[label.lower()] for label in labels], dtype=np.int64)


_CLASSES: Mapping[str, Callable[[Sequence[str]], Int]] = {
    "chord": _triads,
    "local_key": _keys,
    "key": _keys,
    "segment": _names,
    "classification": _names,
}
"""Labels of a task, each once -> their classes."""


def _cells(track: TrackAnnotations, names: Sequence[str], vocabulary: dict[str, int]) -> tuple[Float, Float, Int, Int]:
    """Stretches of a track on which no side changes its label: start and end in seconds, and numbers of labels.

    The numbers are those of the reference, int64 (cells,), and of each system, int64 (systems, cells), in the
    vocabulary; `OTHER` without a label.
    """
    sides = [track.reference, *(track.estimates[name] for name in names if name in track.estimates)]
    coded = [
        np.array([vocabulary.setdefault(label, len(vocabulary)) for label in side.labels or ()], dtype=np.int64)
        for side in sides
    ]
    if "start" not in track.reference.columns:
        start, end = np.array([np.nan]), np.array([np.nan])
        found = [codes[:1] if len(codes) == 1 else np.array([OTHER]) for codes in coded]
    else:
        own = track.reference.columns
        cuts = np.unique(np.concatenate([side.columns[name] for side in sides for name in ("start", "end")]))
        cuts = cuts[(cuts >= own["start"].min(initial=np.inf)) & (cuts <= own["end"].max(initial=-np.inf))]
        start, end = cuts[:-1], cuts[1:]
        found, time = [], (start + end) / 2
        for side, codes in zip(sides, coded, strict=True):
            # Of overlapping intervals the last one counts.
            order = np.argsort(side.columns["start"], kind="stable")
            first, last = (side.columns[name][order] for name in ("start", "end"))
            found.append(np.full(len(time), OTHER))
            if len(first):
                place = np.maximum(np.searchsorted(first, time, side="right") - 1, 0)
                found[-1] = np.where((first[place] <= time) & (time < last[place]), codes[order][place], OTHER)
    systems = np.full((len(names), len(start)), OTHER)
    systems[[index for index, name in enumerate(names) if name in track.estimates]] = found[1:]
    return start, end, found[0], systems


def _label_disagreements(
    tracks: Sequence[TrackAnnotations], classify: Callable[[Sequence[str]], Int], least: float, shortest: float
) -> list[Disagreement]:
    names = list(dict.fromkeys(name for track in tracks for name in track.estimates))
    vocabulary: dict[str, int] = {}
    cells = [_cells(track, names, vocabulary) for track in tracks]
    starts, ends, _, systems = zip(*cells, strict=True) if cells else [()] * 4
    if not sum(map(len, starts)):
        return []
    labels = list(vocabulary)
    classes = np.append(classify(labels), OTHER)  # the last one is for no label
    known, codes = np.unique(classes, return_inverse=True)
    codes = np.where(classes == OTHER, OTHER, codes.ravel() - int(known[0] == OTHER))
    said = codes[np.concatenate(systems, axis=1)]
    length = np.concatenate(ends) - np.concatenate(starts)
    timed = ~np.isnan(length)
    fitted = fit_latent_classes(said, np.where(timed, length, 1.0), int(codes.max(initial=0)) + 1)
    disagreements: list[Disagreement] = []
    for track, stretches, last in zip(tracks, cells, np.cumsum([*map(len, starts)]).tolist(), strict=True):
        span = slice(last - len(stretches[0]), last)
        disagreements += _of_track(
            track, names, stretches, said[:, span], fitted.posterior[span], codes, labels, least, shortest
        )
    return disagreements


def _of_track(
    track: TrackAnnotations,
    names: Sequence[str],
    cells: tuple[Float, Float, Int, Int],
    said: Int,
    posterior: Float,
    codes: Int,
    labels: Sequence[str],
    least: float,
    shortest: float,
) -> Iterator[Disagreement]:
    start, end, written, systems = cells
    consensus = posterior.argmax(axis=1)
    agreeing = (said == consensus).sum(axis=0)
    reference = codes[written]
    against = (reference != OTHER) & (reference != consensus)
    against &= agreeing >= max(2, np.ceil(least * len(track.estimates) - 1e-9))
    joined = (written[1:] == written[:-1]) & (consensus[1:] == consensus[:-1])
    joined &= against[1:] & against[:-1]
    cuts = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(against)]])
    cuts = cuts[: 1 + len(against)]
    firsts = np.flatnonzero(against[cuts[:-1]])
    for first, last in zip(cuts[firsts].tolist(), cuts[firsts + 1].tolist(), strict=True):
        run = np.arange(first, last)
        length = end[run] - start[run]
        timed = not np.isnan(length).any()
        weights = length if timed else np.ones(len(run))
        if timed and length.sum() < shortest:
            continue
        alike = said[:, run] == consensus[run]
        usual = np.bincount(systems[:, run][alike], weights=np.broadcast_to(weights, alike.shape)[alike])
        agreement = float(weights @ posterior[run, consensus[run]] / weights.sum())
        yield Disagreement(
            track.track,
            float(start[run[0]]),
            float(end[run[-1]]),
            labels[written[run[0]]],
            labels[int(usual.argmax())],
            int(agreeing[run].min()),
            len(track.estimates),
            agreement,
            float(weights.sum()) * agreement,
            annotator=track.annotator,
            names=tuple(name for name, agrees in zip(names, alike.all(axis=1).tolist(), strict=True) if agrees),
        )


def _times_of(annotation: Annotation) -> Float:
    """Times of events; boundaries between sections, without the first and the last."""
    columns = annotation.columns
    if "time" in columns:
        return np.sort(columns["time"])
    return np.unique(np.concatenate([columns["start"], columns["end"]]))[1:-1]


def _event_disagreements(track: TrackAnnotations, window: float) -> Iterator[Disagreement]:
    """Events that all systems have and the reference lacks, or the other way round, as runs."""
    reference = _times_of(track.reference)
    systems = [_times_of(estimate) for estimate in track.estimates.values()]
    base = min(systems, key=len)
    near = [_nearest(system, base) for system in systems]
    common = np.all([np.abs(one - base) <= window for one in near], axis=0)
    agreed: Float = np.median(np.array(near)[:, common], axis=0) if common.any() else np.zeros(0)
    missing = agreed[np.abs(_nearest(reference, agreed) - agreed) > window]
    alone = np.all([np.abs(_nearest(system, reference) - reference) > window for system in systems], axis=0)
    extra = reference[alone]
    times = np.concatenate([missing, extra])
    order = np.argsort(times, kind="stable")
    breaks = np.flatnonzero(np.diff(times[order]) > _APART) + 1
    for run in np.split(order, breaks) if len(order) else ():
        sides = [np.sort(times[run[mask]]).tolist() for mask in (run >= len(missing), run < len(missing))]
        own, lacking = (name_some([f"{time:.2f}" for time in side], most=_SHOWN) for side in sides)
        yield Disagreement(
            track.track,
            float(times[run[0]]),
            float(times[run[-1]]),
            own,
            lacking,
            len(systems),
            len(systems),
            1.0,
            float(len(run)),
            tuple(sides[1]),
            tuple(sides[0]),
            track.annotator,
            tuple(track.estimates),
        )


def _nearest(times: Float, wanted: Float) -> Float:
    """The nearest of ascending times to each wanted one; infinite if there is none."""
    if not len(times):
        return np.full(len(wanted), np.inf)
    after = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1) if len(times) > 1 else np.zeros(len(wanted), int)
    before = np.maximum(after - 1, 0)
    closer = np.abs(times[before] - wanted) <= np.abs(times[after] - wanted)
    nearest: Float = np.where(closer, times[before], times[after])
    return nearest
