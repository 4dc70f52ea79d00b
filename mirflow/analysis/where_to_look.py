"""Where to look and listen: tracks with the worst or best scores or the largest changes, and doubtful references.

References are doubtful where systems that agree with each other disagree with them. Labels are compared as classes:
chords as major and minor triads, keys as such, sections by name. How probable the systems' class is follows from the
model of Dawid and Skene over all tracks, in which systems differ in what they confuse. Events, and boundaries of
sections, agree within the window of their task. Tracks are given as datasets, disagreements as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import QueryError, name_some
from ..kernels.agreement import fit_latent_classes
from ..ragged import Bool, Float, Int
from ..theory.chords import encode_vocabulary
from ..theory.keys import parse_key
from .aggregation import POLICIES, free_names, origin_of, select
from .inference.noninferiority import baselines_of
from .inference.sample import differences, settle
from .query_options import Query
from .scores import Array, coords_of, names_of
from .selection import counted_scores

if TYPE_CHECKING:
    import xarray as xr


_TAKEN = (
    *("system", "track", "rank", "value", "score", "weight", "n", "tied"),
    *("baseline", "gain", "baseline_value", "better", "worse"),
)


def extremes(
    ds: xr.Dataset, query: Query, count: int = 10, *, best: bool = False, overall: bool = False, group: str = ""
) -> xr.Dataset:
    """The tracks with the worst scores of one metric, of each system or over all of them.

    `query`: with one metric, and without options of aggregation. Without a policy what is missing is left out for each
    system, and overall only tracks take part that every system has. `overall`: by the mean over the systems, instead of
    each system's own. `group`: a name of the evaluation to carry along. Returns ``track``, ``value`` and ``weight``
    over (system, rank); overall ``track`` and ``value`` over (rank), ``score`` and ``weight`` over (system, rank).
    Where a system has fewer tracks, ``track`` is empty. ``n`` is the number of tracks that take part, ``tied`` how many
    have the value of the last one. The tracks' coordinates, and ``annotator`` where annotators are asked for, lie along
    with ``track``. Raises `QueryError` for several metrics, one with extra dims, one of which neither high nor low
    values are better, or options that single tracks do not have. Raises `UnknownNameError` for a name that is not
    there, with a suggestion.
    """
    import xarray as xr

    order = "best" if best else "worst"
    part = _select_one(ds, replace(query, missing=query.missing or ("common" if overall else "skip")), count)
    orientation = names_of(part, "orientation")[0]
    score, weight = counted_scores(part)[..., 0], part["weight"].values[..., 0]
    included = ~np.isnan(score)
    ordered = score if (orientation == "lower") == best else -score
    with np.errstate(invalid="ignore"):
        values = ordered.mean(axis=0, keepdims=True) if overall else ordered
    counted = np.asarray(included.all(axis=0, keepdims=True)) if overall else included
    chosen = _each(values, counted, count)
    lists = zip(values, counted, chosen, strict=True)
    ties = [int((mask & (row == row[tracks[-1]])).sum()) if len(tracks) else 0 for row, mask, tracks in lists]
    coords = _coords(part, chosen, overall)
    attrs = {**_about(part, group, order), "left_out": str(int((~included).sum())), "orientation": orientation}
    if overall:
        both = {name: (("system", "rank"), rows[:, chosen[0]]) for name, rows in (("score", score), ("weight", weight))}
        value = ("rank", score[:, chosen[0]].mean(axis=0))
        number_of = {"n": ((), int(included.all(axis=0).sum())), "tied": ((), ties[0])}
        return xr.Dataset({"value": value, **both, **number_of}, coords, attrs)
    cells = {name: (("system", "rank"), _listed(rows, chosen)) for name, rows in (("value", score), ("weight", weight))}
    return xr.Dataset({**cells, "n": ("system", included.sum(axis=1)), "tied": ("system", ties)}, coords, attrs)


def changes(
    ds: xr.Dataset, query: Query, baseline: str, count: int = 10, *, best: bool = False, group: str = ""
) -> xr.Dataset:
    """The tracks on which systems lose most against a baseline by one metric, or gain most.

    `query`: with one metric, whose aggregate does not matter. `baseline`: a system, or the label of a store; see
    :func:`mirflow.analysis.inference.noninferiority.baselines_of`. `count`: how many tracks of each system, at most.
    Tracks without a loss, or without a gain, are not listed. `best`: the gains instead. `group`: a name of the
    evaluation to carry along. Returns ``track``, ``gain`` (the change towards better values), ``value`` (the system's
    score) and ``baseline_value`` over (system, rank). Where a system has fewer tracks, ``track`` is empty. Over
    (system) ``n``, the number of tracks that system and baseline both have, ``better`` and ``worse``, on how many of
    them it gains and loses. The coordinate ``baseline`` lies along ``system``, those of the tracks along with
    ``track``. Raises `QueryError` for several metrics, one with extra dims, or one of which neither high nor low values
    are better. Raises `UnknownNameError` for a name that is not there, with a suggestion.
    """
    import xarray as xr

    baselines = baselines_of(ds, query, baseline)
    systems = list(dict.fromkeys([*baselines, *baselines.values()]))
    # Each system has its own tracks in common with its baseline.
    policy = "skip" if query.missing in (None, "common") else query.missing
    part = _select_one(ds, replace(query, system=systems, missing=policy, sort=None), count)
    rows, bases = (np.array([systems.index(name) for name in side]) for side in (baselines, baselines.values()))
    score = counted_scores(part)[..., 0]
    included = ~np.isnan(score)
    both = included[rows] & included[bases]
    gain = differences(score[rows], score[bases]) * (-1 if names_of(part, "orientation")[0] == "lower" else 1)
    better, worse = both & (settle(gain) > 0), both & (settle(gain) < 0)
    chosen = _each(-gain, better, count) if best else _each(gain, worse, count)
    values = (("gain", gain), ("value", score[rows]), ("baseline_value", score[bases]))
    cells = {name: (("system", "rank"), _listed(values_of, chosen)) for name, values_of in values}
    masks = (("n", both), ("better", better), ("worse", worse))
    counts = {name: ("system", mask.sum(axis=1)) for name, mask in masks}
    coords = _coords(part.isel(system=rows), chosen, overall=False)
    coords["baseline"] = ("system", list(baselines.values()))
    attrs = _about(part, group, "best" if best else "worst")
    return xr.Dataset({**cells, **counts}, coords, {**attrs, "missing": "common" if policy == "skip" else policy})


def _select_one(ds: xr.Dataset, query: Query, count: int) -> xr.Dataset:
    """Select the scores of one metric by which so many tracks can be listed."""
    if count < 1:
        raise QueryError(f"invalid number of tracks {count}: expected at least one")
    part = select(ds, replace(query, aggregate="mean"), single=True)
    metrics = names_of(part, "metric")
    if len(metrics) != 1:
        raise QueryError(f"tracks are listed by one metric; name one of: {', '.join(metrics)}")
    if names_of(part, "orientation") == ["none"]:
        raise QueryError(f"metric {metrics[0]!r}: neither high nor low values of it are better")
    return part


def _about(part: xr.Dataset, group: str, order: str) -> dict[str, Any]:
    """Attributes of a list of tracks."""
    attrs = {**origin_of(part, group), **{name: part.attrs[name] for name in POLICIES if name in part.attrs}}
    attrs |= {"order": order, "metric": names_of(part, "metric")[0], "unit": names_of(part, "unit")[0]}
    return {**attrs, "title": str(part["title"].values[0]) if "title" in part.coords else ""}


def _coords(part: xr.Dataset, chosen: list[Int], overall: bool) -> dict[str, Any]:
    """Ranks and systems, and along with them names and coordinates of the listed tracks."""
    longest = max(map(len, chosen), default=0)
    coords: dict[str, Any] = {"rank": np.arange(1, longest + 1), "system": part["system"].values}
    along = {"track": part["track"].values, **free_names(coords_of(part, "track"), _TAKEN, "track_")}
    for name, values in along.items():
        number = values.dtype.kind in "if"
        values = values if number else np.array(values.tolist(), dtype=str)
        column = _listed([values] * len(chosen), chosen, np.nan if number else "")
        coords[name] = ("rank", column[0]) if overall else (("system", "rank"), column)
    return coords


def _listed(rows: Iterable[Array], chosen: Sequence[Int], fill: object = np.nan) -> Array:
    """What is chosen of each row, in rows of one array, behind which shorter ones are filled up."""
    columns = [row[tracks] for row, tracks in zip(rows, chosen, strict=True)]
    kind = np.concatenate(columns).dtype if columns else np.dtype(np.float64)
    longest = max(map(len, columns), default=0)
    whole = np.full((len(columns), longest), fill, dtype=np.result_type(kind, np.asarray(fill).dtype))
    for row, column in zip(whole, columns, strict=True):
        row[: len(column)] = column
    return whole


def _each(ordered: Float, included: Bool, count: int) -> list[Int]:
    """The first tracks of each system in ascending order; equal ones in the order of the tracks."""
    chosen = []
    for row, mask in zip(ordered, included, strict=True):
        tracks = np.flatnonzero(mask)
        chosen.append(tracks[np.argsort(row[tracks], kind="stable")][:count].astype(np.int64))
    return chosen


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
        disagreements = list(_label_disagreements(held, _CLASSES[task], least, shortest))
    elif task in WINDOWS:
        disagreements = [disagreement for track in held for disagreement in _event_disagreements(track, WINDOWS[task])]
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
) -> Iterator[Disagreement]:
    """Runs of stretches on which enough systems say another class than the reference."""
    names = list(dict.fromkeys(name for track in tracks for name in track.estimates))
    vocabulary: dict[str, int] = {}
    cells = [_cells(track, names, vocabulary) for track in tracks]
    starts, ends, _, systems = zip(*cells, strict=True) if cells else [()] * 4
    if not sum(map(len, starts)):
        return
    labels = list(vocabulary)
    classes = np.append(classify(labels), OTHER)  # the last one is for no label
    known, codes = np.unique(classes, return_inverse=True)
    codes = np.where(classes == OTHER, OTHER, codes.ravel() - int(known[0] == OTHER))
    said = codes[np.concatenate(systems, axis=1)]
    length = np.concatenate(ends) - np.concatenate(starts)
    timed = ~np.isnan(length)
    fitted = fit_latent_classes(said, np.where(timed, length, 1.0), int(codes.max(initial=0)) + 1)
    for track, (start, end, written, spoken), stop in zip(
        tracks, cells, np.cumsum([*map(len, starts)]).tolist(), strict=True
    ):
        span = slice(stop - len(start), stop)
        classes_said, posterior, reference = said[:, span], fitted.posterior[span], codes[written]
        consensus = posterior.argmax(axis=1)
        agreeing = (classes_said == consensus).sum(axis=0)
        against = (reference != OTHER) & (reference != consensus)
        against &= agreeing >= max(2, np.ceil(least * len(track.estimates) - 1e-9))
        joined = (written[1:] == written[:-1]) & (consensus[1:] == consensus[:-1])
        joined &= against[1:] & against[:-1]
        cuts = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(against)]])
        cuts = cuts[: 1 + len(against)]
        firsts = np.flatnonzero(against[cuts[:-1]])
        for first, last in zip(cuts[firsts].tolist(), cuts[firsts + 1].tolist(), strict=True):
            run = np.arange(first, last)
            lengths = end[run] - start[run]
            has_times = not np.isnan(lengths).any()
            weights = lengths if has_times else np.ones(len(run))
            if has_times and lengths.sum() < shortest:
                continue
            alike = classes_said[:, run] == consensus[run]
            usual = np.bincount(spoken[:, run][alike], weights=np.broadcast_to(weights, alike.shape)[alike])
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
    common = np.all([np.abs(times_near - base) <= window for times_near in near], axis=0)
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
