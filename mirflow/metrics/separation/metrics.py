"""The separation metrics: cleaning, pairs of sources by name or order, scores, records, conventions, and the task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import EllipsisType
from typing import Any

import numpy as np

from ...annotations.audio import first_not_finite
from ...errors import AnnotationError
from ...ragged import Float, Ragged, rows_of
from ..base import Convention, Grid, Pairs, Scores, Shared, Sparse, Task, by_name, computed_once
from ..cleaning import Cleaned, Flaw
from ..measures import Measure, Metric, Parameter
from .kernel import (
    FILTERS_LENGTH,
    MAX_SOURCES,
    NAMES,
    NOT_FINITE,
    Recording,
    ReferenceSources,
    best_order,
    measure_frames,
    measure_frames_with_one_filter,
    measure_whole,
    scale_invariant,
    spectral_distances,
    whole_track_ratios,
)


def clean(rows: Ragged, *, lenient: bool = False) -> Cleaned:
    """Find rows that cannot be scored; nothing is repaired.

    Flaws are sources that have no samples or cannot be read, more than 100 sources and, unless `lenient`, silent
    sources.
    """
    flaws: dict[int, Flaw] = {}
    for row, (first, last) in enumerate(zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True)):
        if last - first > MAX_SOURCES:
            flaws[row] = Flaw(MAX_SOURCES, f"too many sources: {last - first} (at most {MAX_SOURCES})")
            continue
        for item in range(first, last):
            signal = rows.columns["signal"][item]
            wrong = ""
            try:
                if signal.frames == 0:
                    wrong = "has no samples"
                elif not lenient and Recording((signal,), signal.channels, signal.frames).silent():
                    one_channel = signal.channels == 1
                    all_zero = "all its samples are 0" if one_channel else "the sum of its channels is 0 at all samples"
                    wrong = f"is silent: {all_zero}"
            except (AnnotationError, OSError) as error:
                wrong = f"cannot be read: {error}"
            if wrong:
                flaws[row] = Flaw(item - first, f"{name_of(rows, item, first)} {wrong}")
                break
    mask = ~np.isin(rows_of(rows.counts[0]), list(flaws))
    return Cleaned(rows.keep(mask) if flaws else rows, np.zeros(len(rows), dtype=np.int64), flaws)


def name_of(rows: Ragged, item: int, first: int) -> str:
    """Describe a source in a message by its name or its index in the row."""
    code = int(rows.columns["label"][item]) if "label" in rows.columns else -1
    return f"source {rows.labels[code]!r}" if code >= 0 else f"source {item - first}"


class UnpairedError(Exception):
    """The sides of a pair cannot be compared."""


class SourcePair(Shared):
    """Both sides of a pair, source by source, with the results that metrics share.

    Sources are matched by name, or by order if a side has no names. With `lenient`, estimates of another length are cut
    or padded with silence, as in museval, and sources that are missing or silent in the reference are left out.
    `projections` are those of the reference, which its next pair uses, too. Raise an UnpairedError if sources are
    missing or superfluous, or sampling rates, channels or lengths differ.
    """

    def __init__(self, pairs: Pairs, pair: int, lenient: bool, projections: dict[int, ReferenceSources]) -> None:
        self._projections = projections
        (references, row), (estimates, other) = ((rows, int(row[pair])) for rows, row in pairs.sides)
        self.names, order = _match_names(references, row, estimates, other, lenient)
        """Names of all reference sources."""
        wanted, signals = (
            tuple(table.columns["signal"][slice(*table.offsets[index : index + 2])].tolist())
            for table, index in ((references, row), (estimates, other))
        )
        reference = Recording(wanted, wanted[0].channels, wanted[0].frames)
        self.rate: float = wanted[0].rate
        self.repairs = len(signals) - len(order)
        """Number of estimated sources that were left out, or cut or padded to the length of the references."""
        for side, table, index in (("reference", references, row), ("estimated", estimates, other)):
            first, last = table.offsets[index : index + 2].tolist()
            for item in range(first, last):
                signal, cut = table.columns["signal"][item], lenient and side == "estimated"
                if side == "estimated" and item - first not in order:
                    continue
                self.repairs += cut and signal.frames != reference.frames
                for has, value, unit, expected in (
                    ("is sampled at", signal.rate, "Hz", self.rate),
                    ("has", signal.channels, "channels", reference.channels),
                    ("has", reference.frames if cut else signal.frames, "samples", reference.frames),
                ):
                    if value != expected:
                        name = f"{side} {name_of(table, item, first)}"
                        but = f"but the first reference source {expected:g}"
                        raise UnpairedError(f"{name} {has} {value:g} {unit}, {but}")
        silent = reference.silent() if lenient else []
        self.sounding = [source for source in range(len(reference)) if source not in silent]
        """Indices in `names` of the sources of both recordings, which are not silent in the reference."""
        if not self.sounding:
            raise UnpairedError("reference: all sources are silent, so there is nothing to score")
        self.reference = reference.take(self.sounding)
        # The estimated sources that count have the channels of the references, whatever superfluous ones have.
        self.estimate = replace(reference, signals=signals).take([order[source] for source in self.sounding])
        self.mute = self.estimate.silent() if lenient else []
        """Indices in the recordings of silent estimated sources, which have no parts."""

    def references(self, lags: int) -> ReferenceSources:
        """References with their projections, computed once."""
        if lags not in self._projections:
            self._projections.clear()  # only one length of filters at a time because they are large
            self._projections[lags] = ReferenceSources(self.reference, lags)
        return self._projections[lags]

    def samples(self, *seconds: float) -> list[int]:
        """Convert window and hop to whole samples, rounded down except for rounding errors."""
        return [max(1, int(round(float(length) * self.rate, 6))) for length in seconds]


def _match_names(
    references: Ragged, row: int, estimates: Ragged, other: int, lenient: bool
) -> tuple[tuple[str, ...], list[int]]:
    """Names of the reference sources, or numbers, and the estimated source for each of them."""
    names: list[list[str]] = []  # Empty for a side without names
    for side, rows, index in (("reference", references, row), ("estimated", estimates, other)):
        codes = (
            rows.columns["label"][slice(*rows.offsets[index : index + 2])].tolist() if "label" in rows.columns else []
        )
        names.append([rows.labels[code] for code in codes] if min(codes, default=-1) >= 0 else [])
        for name in names[-1]:
            if names[-1].count(name) > 1:
                raise UnpairedError(f"two {side} sources are called {name!r}")
    wanted, estimated = names
    count, estimate_count = int(references.counts[0][row]), int(estimates.counts[0][other])
    if not wanted or not estimated:
        if count != estimate_count:
            raise UnpairedError(f"{estimate_count} estimated sources for {count} reference sources")
        return tuple(wanted or (f"{number:02d}" for number in range(count))), list(range(count))
    missing = [repr(name) for name in wanted if name not in estimated]
    if missing:
        listed = f"{', '.join(missing)}; estimated: {', '.join(estimated)}"
        raise UnpairedError(f"no estimate of source {listed}; choose with the option sources")
    more = [repr(name) for name in estimated if name not in wanted]
    if more and not lenient:
        listed = f"{', '.join(more)}; references: {', '.join(wanted)}"
        raise UnpairedError(f"no reference of estimated source {listed}; choose with the option sources")
    return tuple(wanted), [estimated.index(name) for name in wanted]


@computed_once
def _whole(pair: SourcePair, lags: int, permutation: bool) -> Float:
    """Ratios of whole recordings, followed by the order of the estimated sources."""
    ratios, order = measure_whole(pair.references(lags), pair.estimate, permutation)
    if np.isnan(ratios).all():
        raise FloatingPointError(NOT_FINITE)
    return np.vstack([ratios, order])


@computed_once
def _frames(pair: SourcePair, window: float, hop: float, lags: int, permutation: bool) -> Float:
    width, step = pair.samples(window, hop)
    return measure_frames(pair.reference, pair.estimate, width, step, permutation, lags)[0]


@computed_once
def _track_frames(pair: SourcePair, window: float, hop: float, lags: int, filters: str) -> Float:
    """Ratios of frames as in museval, with filters of the whole track or of each frame."""
    sides, (width, step) = (pair.reference, pair.estimate), pair.samples(window, hop)
    if filters == "track":
        ratios = measure_frames_with_one_filter(pair.references(lags), pair.estimate, width, step, pair.mute)
    else:
        # Of a single frame, mir_eval would use the whole track.
        single = 0 < pair.reference.frames - width < step
        left, right = (replace(side, frames=width) if single else side for side in sides)
        ratios, _ = measure_frames(left, right, width, step, False, lags, pair.mute)
    ratios[:, pair.mute] = np.nan
    return ratios


def _invariant(pair: SourcePair, zero_mean: bool, permutation: bool) -> Float:
    sides = pair.reference, pair.estimate
    table = pair.once(("invariant", zero_mean), lambda: scale_invariant(*sides, zero_mean))
    sources = np.arange(len(table))
    ratios: Float = table[best_order(table) if permutation else sources, sources]
    ratios[pair.mute] = np.nan
    return ratios


@computed_once
def _whole_track(pair: SourcePair, floor: float) -> Float:
    return whole_track_ratios(pair.reference, pair.estimate, floor)


def _spectral(pair: SourcePair, convergence: float, logarithmic: float, linear: float, floor: float) -> Float:
    sides = pair.reference, pair.estimate
    parts = pair.once(("spectra", floor), lambda: spectral_distances(*sides, floor))
    return np.asarray(np.array([convergence, logarithmic, linear]) @ parts)


def median_over_frames(ratios: Float) -> Float:
    """Median over the frames of each source, ignoring NaN: float64 (sources,)."""
    frames = [row[~np.isnan(row)] for row in ratios]
    with np.errstate(invalid="ignore"):  # the mean of both infinities is undefined
        return np.array([np.median(row) if len(row) else np.nan for row in frames])


def _read(table: Callable[..., Float], row: int | EllipsisType, pair: SourcePair, measure: Measure) -> Float:
    """Select a row of the results that several metrics share, which depend on the parameters in order.

    A metric without frames has the medians over those of the results.
    """
    values = np.asarray(table(pair, *measure.values)[row])
    return values if values.ndim == 1 or "frame" in measure.metric.dims else median_over_frames(values)


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union", *, lenient: bool = False) -> Scores:
    """Score pairs: means over the sources, weighted by the number of sources that have a score.

    Pairs whose sources do not match or have samples that are not finite are refused. Scores of empty sides are NaN.
    With `lenient`, estimates are cut or padded to the references' length, as in museval, sources missing in the
    reference are left out, and silent sources have no score, with a message in `partly`.
    """
    scalars = [measure for measure in measures if not measure.metric.dims]
    tables: dict[Measure, dict[int, Named]] = {measure: {} for measure in measures if measure.metric.dims}
    counts, others = pairs.counts
    values = np.full((len(pairs), len(scalars)), np.nan)
    weights = np.repeat(counts[:, None].astype(np.float64), len(scalars), axis=1)
    refused: dict[int, str] = {}
    partly: dict[int, str] = {}
    repairs = np.zeros(len(pairs), dtype=np.int64)
    projections: dict[int, ReferenceSources] = {}
    last = -1
    # In order of the references, so that their projections are reused for the next system.
    for pair in np.argsort(pairs.reference_row, kind="stable").tolist():
        if not counts[pair] or not others[pair]:
            continue
        if last != (last := pairs.reference_row[pair]):
            projections.clear()
        try:
            sides = SourcePair(pairs, pair, lenient, projections)
            for column, measure in enumerate(scalars):
                each = measure.read(sides)
                numbers = each[~np.isnan(each)]  # of the sources that have a score
                with np.errstate(invalid="ignore"):
                    values[pair, column] = float(numbers.mean()) if len(numbers) else np.nan
                weights[pair, column] = len(numbers)
            for measure, rows in tables.items():
                rows[pair] = sides.names, sides.sounding, measure.read(sides)
        except (UnpairedError, FloatingPointError, AnnotationError, OSError) as error:
            refused[pair] = str(error)
            if isinstance(error, FloatingPointError):
                refused[pair] = _where_not_finite(sides) or str(error)
            values[pair], weights[pair] = np.nan, counts[pair]
            continue
        repairs[pair] = sides.repairs
        gone = [repr(name) for source, name in enumerate(sides.names) if source not in sides.sounding]
        mute = [repr(sides.names[sides.sounding[source]]) for source in sides.mute]
        notes = [f"reference: {', '.join(gone)}: silent, not scored"] if gone else []
        notes += [f"estimate: {', '.join(mute)}: silent, ratios of its parts are undefined"] if mute else []
        if notes:
            partly[pair] = "; ".join(notes)
    extras = {measure.variable: _tabulate(measure.metric, rows, refused) for measure, rows in tables.items()}
    return Scores(values, weights, extras, refused, repairs, partly)


def _where_not_finite(sides: SourcePair) -> str:
    """Describe the first sample that is not finite, with source and file; empty if there is none."""
    for side, recording in (("reference", sides.reference), ("estimate", sides.estimate)):
        names = (sides.names[place] for place in sides.sounding)
        for name, signal in zip(names, recording.signals, strict=True):
            if (wrong := first_not_finite(signal)) is not None:
                file = getattr(signal, "name", "")  # signals in memory have no file
                place = f"sample {wrong} ({wrong / signal.rate:.3f} s)"
                return f"{side} source {name!r}{f' ({file})' if file else ''}: {place} is not a finite number"
    return ""


Named = tuple[tuple[str, ...], list[int], Float]
"""Names of all sources, indices of those with values, and these along source (and frame)."""


def _tabulate(metric: Metric, rows: dict[int, Named], refused: dict[int, str]) -> Sparse:
    """Collect the values of all scored pairs."""
    orders = {names for names, _, _ in rows.values()}
    # In the requested order if all pairs have the same sources.
    every = orders.pop() if len(orders) == 1 else tuple(sorted({name for names in orders for name in names}))
    frames = max((values.shape[1] for _, _, values in rows.values() if values.ndim > 1), default=0)
    index, value = [np.empty((0, 1 + len(metric.dims)), dtype=np.int64)], [np.empty(0)]
    for pair, (names, sources, values) in sorted(rows.items()):
        if pair not in refused:
            defined = np.nonzero(~np.isnan(values))
            places = np.array([every.index(names[source]) for source in sources], dtype=np.int64)[defined[0]]
            index.append(np.column_stack([np.full(len(places), pair), places, *defined[1:]]).astype(np.int64))
            value.append(values[defined])
    coords = (every, tuple(f"{frame:06d}" for frame in range(frames)))[: len(metric.dims)]
    attrs = {"long_name": metric.title, "units": metric.unit or "1"}
    return Sparse(metric.dims, coords, np.concatenate(index), np.concatenate(value), attrs, np.nan)


_LENGTH = Parameter("filters_len", FILTERS_LENGTH, "samples", help="taps of the allowed distortion filters", least=1)
_WINDOW = Parameter("window", 30.0, "s", help="length of a frame", above=0.0)
_HOP = Parameter("hop", 15.0, "s", help="distance of frames", above=0.0)
_PERMUTATION = Parameter(
    "permutation", True, help="use the permutation of the estimates with the best mean SIR (for SI-SDR: SI-SDR)"
)
_IN_ORDER = replace(_PERMUTATION, default=False)
_ZERO_MEAN = Parameter("zero_mean", False, help="subtract the mean of each channel first")
_ORIGIN = Parameter(
    "filters",
    "track",
    choices=("track", "frame"),
    help="filters of the whole track (BSS Eval v4) or of each frame (v3)",
)
_SPECTRAL = (
    Parameter("convergence", 1.0, least=0.0, help="weight of the spectral convergence"),
    Parameter("logarithmic", 1.0, least=0.0, help="weight of the difference of log magnitudes"),
    Parameter("linear", 0.0, least=0.0, help="weight of the difference of magnitudes"),
    Parameter("eps", 1e-8, above=0.0, help="smallest square of a magnitude"),
)
_EPS = Parameter("eps", 1e-7, least=0.0, help="energy added to numerator and denominator")
_ROUNDED = "about 250 dB or more instead of infinity, because of rounding"

_OF_USDR, _OF_MRSTFT = "@mitsufuji2022; @luo2023", "@yamamoto2020; @steinmetz2020"
_INCLUDING = "energy of the source over that of everything else, including its own distortion"
_DIFFERENCE = "energy of the source over that of the difference in the whole track, with eps added to both"
_QUANTITIES = {
    "sdr": ("SDR", "energy of the filtered source over that of everything else", "@vincent2006"),
    "sir": ("SIR", "energy of the filtered source over that of the other sources", "@vincent2006"),
    "sar": ("SAR", "energy of all filtered sources over that of the artifacts", "@vincent2006"),
    "image_sdr": ("Image SDR", _INCLUDING, "@vincent2012"),
    "image_isr": (
        "Image ISR",
        "energy of the source over that of its spatial (or filtering) distortion",
        "@vincent2012",
    ),
    "image_sir": ("Image SIR", "energy of the filtered source over that of the other sources", "@vincent2012"),
    "image_sar": ("Image SAR", "energy of all filtered sources over that of the artifacts", "@vincent2012"),
    "si_sdr": ("SI-SDR", "energy of the optimally scaled source over that of everything else", "@leroux2019"),
    "usdr": ("uSDR", _DIFFERENCE, _OF_USDR),
    "mrstft": ("Multi-resolution STFT distance", "distance of magnitude spectra at three resolutions", _OF_MRSTFT),
}
"""Titles, summaries and literature."""
KEYS = {
    "sdr": "Sources{} - Source to Distortion",
    "sir": "Sources{} - Source to Interference",
    "sar": "Sources{} - Source to Artifact",
    "image_sdr": "Images{} - Source to Distortion",
    "image_isr": "Images{} - Image to Spatial",
    "image_sir": "Images{} - Source to Interference",
    "image_sar": "Images{} - Source to Artifact",
}
"""Keys of mir_eval, with a placeholder for frames."""
_DIMS = {"": (), "source_": ("source",), "frame_": ("source", "frame")}
"""Dims of metrics by the beginnings of their names."""


def _metrics(
    prefix: str,
    quantities: Mapping[str, str],
    table: Callable[..., Float],
    parameters: tuple[Parameter, ...],
    how: str = "mean over the sources",
    key: str | None = None,
    **declared: Any,
) -> tuple[Metric, ...]:
    """Metrics of `_QUANTITIES` by name; mir_eval's keys have `key` for frames."""
    metrics, dims = [], _DIMS[prefix]
    for name, quantity in quantities.items():
        title, summary, literature = _QUANTITIES[quantity]
        rows = [NAMES.index(row) for row in (quantity, quantity.removeprefix("image_")) if row in NAMES]
        # Without filters, a perfect estimate leaves no difference.
        exact = not dims and "standard_aggregate" not in declared and quantity in ("image_sdr", "si_sdr")
        fields: dict[str, Any] = {
            "range": (-math.inf, math.inf),
            "unit": "dB",
            "perfect": math.inf,
            "perfect_exceptions": "" if exact else _ROUNDED,
            "parameters": parameters,
            "literature": literature,
            "read": partial(_read, table, rows[0] if rows else ...),
            "key": "" if key is None else KEYS[name].format(key),
            "pooling": "none" if dims else "micro",
            "dims": dims,
            "default": not dims,
            **declared,
        }
        if dims:
            each = " and ".join(dims)
            about = f"{title} by {each}", f"{summary}; of each {each}", "none", "sources"
        else:
            about = title, f"{summary}; {how}", "number of sources with a score", "sources"
        metrics.append(Metric(f"{prefix}{name}", *about, **fields))
    return tuple(metrics)


_BSS = dict(zip(KEYS, KEYS, strict=True))
_WHOLE, _OF_FRAMES = (_LENGTH, _PERMUTATION), (_WINDOW, _HOP, _LENGTH, _IN_ORDER)
_PERMUTED, _IN_TURN = (
    tuple(
        metric
        for prefix in ("", "source_")
        for metric in _metrics(prefix, {"si_sdr": "si_sdr"}, _invariant, (_ZERO_MEAN, permutation))
    )
    for permutation in (_PERMUTATION, _IN_ORDER)
)
_ORDER = Metric(
    "source_permutation",
    "Order of the estimates",
    "index of the estimated source, from 0, that was compared with each reference source",
    "none",
    "sources",
    key="Sources - Source permutation",
    range=(0.0, math.inf),
    orientation="none",
    pooling="none",
    perfect=None,
    parameters=_WHOLE,
    dims=("source",),
    default=False,
    literature="@vincent2006",
    nominal=True,
    read=partial(_read, _whole, len(NAMES)),
)
_UNFIXED: dict[str, Any] = {"perfect": None, "perfect_exceptions": ""}
_DISTANCE: dict[str, Any] = {"range": (0.0, math.inf), "orientation": "lower", "unit": "", "perfect": 0.0}
_DISTANCE |= {"perfect_exceptions": "", "default": False}
_USDR_NAMES = ("mdx_sdr", "sdx_sdr", "nsdr")
_MDX_WHOLE_TRACK = (
    *_metrics("", {"usdr": "usdr"}, _whole_track, (_EPS,), aliases=_USDR_NAMES, **_UNFIXED),
    *_metrics("source_", {"usdr": "usdr"}, _whole_track, (_EPS,), **_UNFIXED),
    *_metrics("", {"mrstft": "mrstft"}, _spectral, _SPECTRAL, aliases=("mr_stft",), **_DISTANCE),
    *_metrics("source_", {"mrstft": "mrstft"}, _spectral, _SPECTRAL, **_DISTANCE),
)
_WHOLE_TRACK = tuple(replace(metric, default=False) for metric in _MDX_WHOLE_TRACK)

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2",
    (
        *_metrics("", _BSS, _whole, _WHOLE),
        *_PERMUTED,
        *_metrics("source_", _BSS, _whole, _WHOLE, key=""),
        *_metrics("frame_", _BSS, _frames, _OF_FRAMES, key=" Frames"),
        _ORDER,
        *_WHOLE_TRACK,
    ),
    clean,
    score,
    literature="@raffel2014",
)
_OF_MUSEVAL = replace(_WINDOW, default=1.0), replace(_HOP, default=1.0), _LENGTH, _ORIGIN
_IMAGES = {name: f"image_{name}" for name in ("sdr", "isr", "sir", "sar")}
_MEDIAN: dict[str, Any] = {"standard_aggregate": "median", "literature": "@stoeter2018"}
_OVER_FRAMES = "median over frames, then mean over the sources"
_MEDIANS = _metrics("", _IMAGES, _track_frames, _OF_MUSEVAL, _OVER_FRAMES, **_MEDIAN)
MUSEVAL = Convention(
    "museval",
    "museval 0.4.1: BSS Eval v4, medians over frames",
    (
        replace(_MEDIANS[0], aliases=("csdr",)),
        *_MEDIANS[1:],
        *_IN_TURN,
        *_metrics("source_", _IMAGES, _track_frames, _OF_MUSEVAL, **_MEDIAN),
        *_metrics("frame_", _IMAGES, _track_frames, _OF_MUSEVAL, **_MEDIAN),
        *_WHOLE_TRACK,
    ),
    partial(clean, lenient=True),
    partial(score, lenient=True),
    literature="@stoeter2018",
)
MDX = replace(
    MUSEVAL,
    name="mdx",
    summary="Music and Sound Demixing Challenges (MDX, SDX): ratios of whole tracks",
    metrics=(*_MDX_WHOLE_TRACK, *(replace(metric, default=False) for metric in _IN_TURN)),
    literature="@mitsufuji2022",
)

TASK = Task(
    "separation",
    "Source separation",
    by_name(MIR_EVAL, MUSEVAL, MDX),
    ("sdr", "image_sdr", "si_sdr"),
    {"mdx": ("usdr", "si_sdr")},
)
