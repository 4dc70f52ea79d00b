"""The separation metrics: cleaning, pairs of sources by name or order, scores, records, and conventions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...annotations.audio import first_not_finite
from ...errors import AnnotationError
from ...ragged import Float, Ragged, rows_of
from ..base import Convention, Grid, Pairs, Scores, Shared, Sparse, Task, by_name
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
    from_row,
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


@dataclass(frozen=True, slots=True)
class SourcePair:
    """Both sides of a pair, source by source."""

    reference: Recording
    estimate: Recording
    """Recordings without sources that are silent in the reference."""
    names: tuple[str, ...]  # Names of all reference sources
    rate: float  # float, Hz
    repairs: int  # Number of estimated sources that were cut or padded to the length of the references, or left out
    sounding: tuple[int, ...]  # Indices in `names` of the remaining sources
    mute: tuple[int, ...]  # Indices in `names` of silent estimated sources

    def spread(self, values: Float) -> Float:
        """Expand values of the remaining sources to all sources; NaN for the others."""
        if len(self.sounding) == len(self.names):
            return values
        spread = np.full((len(self.names), *values.shape[1:]), np.nan)
        spread[list(self.sounding)] = values
        return spread

    def without_mute(self, values: Float) -> Float:
        """Set values (..., sources, frames) or (sources,) of silent estimates, which have no parts, to NaN."""
        if not self.mute:
            return values
        mute = np.isin(np.arange(len(self.reference)), self.mute)
        masked: Float = np.where(mute[:, None] if values.ndim > 1 else mute, np.nan, values)
        return masked

    def silence(self) -> str:
        """Message about silent sources; empty if there are none."""
        gone = [repr(name) for source, name in enumerate(self.names) if source not in self.sounding]
        mute = [repr(self.names[self.sounding[source]]) for source in self.mute]
        notes = [f"reference: {', '.join(gone)}: silent, not scored"] if gone else []
        notes += [f"estimate: {', '.join(mute)}: silent, ratios of its parts are undefined"] if mute else []
        return "; ".join(notes)


def pair_sources(pairs: Pairs, pair: int, lenient: bool) -> SourcePair:
    """Match the sources of a pair by name, or by order if a side has no names.

    With `lenient`, estimates of another length are cut or padded with silence, as in museval, and sources that are
    missing or silent in the reference are left out. Raise an UnpairedError if sources are missing or superfluous, or
    sampling rates, channels or lengths differ.
    """
    (references, row), (estimates, other) = ((rows, int(row[pair])) for rows, row in pairs.sides)
    names, order = _match_names(references, row, estimates, other, lenient)
    reference, repairs = from_row(references, row), 0
    rate = reference.signals[0].rate
    for side, table, index in (("reference", references, row), ("estimated", estimates, other)):
        first, last = table.offsets[index : index + 2].tolist()
        for item in range(first, last):
            if side == "estimated" and item - first not in order:
                repairs += 1
                continue
            signal, cut = table.columns["signal"][item], lenient and side == "estimated"
            repairs += cut and signal.frames != reference.frames
            for has, value, unit, expected in (
                ("is sampled at", signal.rate, "Hz", rate),
                ("has", signal.channels, "channels", reference.channels),
                ("has", reference.frames if cut else signal.frames, "samples", reference.frames),
            ):
                if value != expected:
                    name = f"{side} {name_of(table, item, first)}"
                    raise UnpairedError(f"{name} {has} {value:g} {unit}, but the first reference source {expected:g}")
    estimate = from_row(estimates, other, reference.frames).take(order)
    silent = reference.silent() if lenient else []
    sounding = tuple(index for index in range(len(reference)) if index not in silent)
    if not sounding:
        raise UnpairedError("reference: all sources are silent, so there is nothing to score")
    reference, estimate = (side.take(sounding) if silent else side for side in (reference, estimate))
    mute = tuple(estimate.silent()) if lenient else ()
    return SourcePair(reference, estimate, names, rate, repairs, sounding, mute)


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


class PairCache(Shared):
    """Cache of results for a pair; references are kept for the next pair if it has the same."""

    def __init__(self) -> None:
        super().__init__()
        self.sides: SourcePair
        self._row = -1
        self._references: dict[int, ReferenceSources] = {}

    def take(self, sides: SourcePair, row: int) -> None:
        """Set the next pair and the row of its reference."""
        if row != self._row:
            self._references.clear()
        self.sides, self._row = sides, row
        self._results.clear()

    def references(self, lags: int) -> ReferenceSources:
        """References with their projections, computed once."""
        if lags not in self._references:
            self._references.clear()  # only one length of filters at a time because they are large
            self._references[lags] = ReferenceSources(self.sides.reference, lags)
        return self._references[lags]

    def samples(self, measure: Measure) -> tuple[int, int]:
        """Window and hop of a measure in whole samples, rounded down except for rounding errors."""
        window, hop = (int(round(float(measure[name]) * self.sides.rate, 6)) for name in ("window", "hop"))
        return max(1, window), max(1, hop)


Read = Callable[[PairCache, Measure], Float]  # Values in dB along source and, for some measures, frame


def _whole(pair: PairCache, measure: Measure) -> tuple[Float, Float]:
    lags, permutation = int(measure["filters_len"]), bool(measure["permutation"])

    def compute() -> tuple[Float, Float]:
        ratios, order = measure_whole(pair.references(lags), pair.sides.estimate, permutation)
        if np.isnan(ratios).all():
            raise FloatingPointError(NOT_FINITE)
        return ratios, order.astype(np.float64)

    return pair.once(("whole", lags, permutation), compute)


def _frames(pair: PairCache, measure: Measure) -> tuple[Float, Float]:
    lags, permutation = int(measure["filters_len"]), bool(measure["permutation"])
    window, hop = pair.samples(measure)
    sides = pair.sides.reference, pair.sides.estimate
    key = "frames", window, hop, lags, permutation
    return pair.once(key, lambda: measure_frames(*sides, window, hop, permutation, lags))


def _track_frames(pair: PairCache, measure: Measure) -> Float:
    """Ratios of frames as in museval, with filters of the whole track or of each frame."""
    lags = int(measure["filters_len"])
    window, hop = pair.samples(measure)
    sides, mute = (pair.sides.reference, pair.sides.estimate), pair.sides.mute

    def compute() -> Float:
        if measure["filters"] == "track":
            ratios = measure_frames_with_one_filter(pair.references(lags), sides[1], window, hop, mute)
        else:
            # Of a single frame, mir_eval would use the whole track.
            single = 0 < sides[0].frames - window < hop
            left, right = (side.window(0, window) if single else side for side in sides)
            ratios, _ = measure_frames(left, right, window, hop, False, lags, mute)
        return pair.sides.without_mute(ratios)

    return pair.once(("museval", window, hop, lags, measure["filters"]), compute)


def _invariant(pair: PairCache, measure: Measure) -> Float:
    sides, zero_mean = (pair.sides.reference, pair.sides.estimate), bool(measure["zero_mean"])
    table = pair.once(("invariant", zero_mean), lambda: scale_invariant(*sides, zero_mean))
    sources = np.arange(len(table))
    order = best_order(table) if measure["permutation"] else sources
    return pair.sides.without_mute(np.asarray(table[order, sources]))


def _whole_track(pair: PairCache, measure: Measure) -> Float:
    sides, floor = (pair.sides.reference, pair.sides.estimate), float(measure["eps"])
    return pair.once(("whole track", floor), lambda: whole_track_ratios(*sides, floor))


def _spectral(pair: PairCache, measure: Measure) -> Float:
    sides, floor = (pair.sides.reference, pair.sides.estimate), float(measure["eps"])
    parts = pair.once(("spectra", floor), lambda: spectral_distances(*sides, floor))
    shares = [float(measure[name]) for name in ("convergence", "logarithmic", "linear")]
    return np.asarray(np.array(shares) @ parts)


def median_over_frames(ratios: Float) -> Float:
    """Median over the frames of each source, ignoring NaN: float64 (sources,)."""
    frames = [row[~np.isnan(row)] for row in ratios]
    with np.errstate(invalid="ignore"):  # the mean of both infinities is undefined
        return np.array([np.median(row) if len(row) else np.nan for row in frames])


def _median_over_frames(row: int, pair: PairCache, measure: Measure) -> Float:
    return median_over_frames(_track_frames(pair, measure)[row])


def _pick(
    table: Callable[[PairCache, Measure], Any], places: tuple[int, ...], pair: PairCache, measure: Measure
) -> Float:
    """Select one of the results that several metrics share."""
    results = table(pair, measure)
    for index in places:
        results = results[index]
    return np.asarray(results)


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
    cache = PairCache()
    # In order of the references, so that their projections are reused for the next system.
    for pair in np.argsort(pairs.reference_row, kind="stable").tolist():
        if not counts[pair] or not others[pair]:
            continue
        try:
            sides = pair_sources(pairs, pair, lenient)
            cache.take(sides, int(pairs.reference_row[pair]))
            for column, measure in enumerate(scalars):
                each = measure.read(cache)
                numbers = each[~np.isnan(each)]  # of the sources that have a score
                with np.errstate(invalid="ignore"):
                    values[pair, column] = float(numbers.mean()) if len(numbers) else np.nan
                weights[pair, column] = len(numbers)
            for measure, rows in tables.items():
                rows[pair] = sides.names, sides.spread(measure.read(cache))
        except (UnpairedError, FloatingPointError, AnnotationError, OSError) as error:
            refused[pair] = str(error)
            if isinstance(error, FloatingPointError):
                refused[pair] = _where_not_finite(sides) or str(error)
            values[pair], weights[pair] = np.nan, counts[pair]
            continue
        repairs[pair] = sides.repairs
        if silence := sides.silence():
            partly[pair] = silence
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


Named = tuple[tuple[str, ...], Float]  # Names of sources, and their values along source (and frame)


def _tabulate(metric: Metric, rows: dict[int, Named], refused: dict[int, str]) -> Sparse:
    """Collect the values of all scored pairs."""
    orders = {names for names, _ in rows.values()}
    # In the requested order if all pairs have the same sources.
    every = orders.pop() if len(orders) == 1 else tuple(sorted({name for names in orders for name in names}))
    frames = max((values.shape[1] for _, values in rows.values() if values.ndim > 1), default=0)
    index, value = [np.empty((0, 1 + len(metric.dims)), dtype=np.int64)], [np.empty(0)]
    for pair, (names, values) in sorted(rows.items()):
        if pair not in refused:
            defined = np.nonzero(~np.isnan(values))
            places = np.array([every.index(name) for name in names], dtype=np.int64)[defined[0]]
            index.append(np.column_stack([np.full(len(places), pair), places, *defined[1:]]).astype(np.int64))
            value.append(values[defined])
    coords = (every, tuple(f"{frame:06d}" for frame in range(frames)))[: len(metric.dims)]
    attrs = {"long_name": metric.title, "units": metric.unit or "1"}
    return Sparse(metric.dims, coords, np.concatenate(index), np.concatenate(value), attrs, np.nan)


_LENGTH = Parameter("filters_len", FILTERS_LENGTH, "samples", help="taps of the allowed distortion filters", least=1)
_ZERO_MEAN = Parameter("zero_mean", False, help="subtract the mean of each channel first")
_ROUNDED = "about 250 dB or more instead of infinity, because of rounding"

_TITLES = {
    "sdr": ("SDR", "energy of the filtered source over that of everything else"),
    "sir": ("SIR", "energy of the filtered source over that of the other sources"),
    "sar": ("SAR", "energy of all filtered sources over that of the artifacts"),
    "image_sdr": ("Image SDR", "energy of the source over that of everything else, including its own distortion"),
    "image_isr": ("Image ISR", "energy of the source over that of its spatial (or filtering) distortion"),
    "image_sir": ("Image SIR", "energy of the filtered source over that of the other sources"),
    "image_sar": ("Image SAR", "energy of all filtered sources over that of the artifacts"),
    "si_sdr": ("SI-SDR", "energy of the optimally scaled source over that of everything else"),
    "usdr": ("uSDR", "energy of the source over that of the difference in the whole track, with eps added to both"),
    "mrstft": ("Multi-resolution STFT distance", "distance of magnitude spectra at three resolutions"),
}
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
_EXACT = {"image_sdr", "si_sdr"}
"""Metrics that compare samples, for which a perfect estimate leaves no difference."""


def _permutation(default: bool) -> Parameter:
    text = "use the permutation of the estimates with the best mean SIR (for SI-SDR: SI-SDR)"
    return Parameter("permutation", default, help=text)


def _spans(window: float, hop: float) -> tuple[Parameter, Parameter]:
    return (
        Parameter("window", window, "s", help="length of a frame", above=0.0),
        Parameter("hop", hop, "s", help="distance of frames", above=0.0),
    )


def _metric(
    name: str,
    shown: str,
    read: Read,
    parameters: tuple[Parameter, ...],
    literature: str,
    dims: tuple[str, ...] = (),
    how: str = "mean over the sources",
    **declared: Any,
) -> Metric:
    title, summary = _TITLES[shown]
    common: dict[str, Any] = {
        "range": (-math.inf, math.inf),
        "unit": "dB",
        "perfect": math.inf,
        "perfect_exceptions": _ROUNDED,
        "parameters": parameters,
        "literature": literature,
        "read": read,
    }
    if not dims:
        if shown in _EXACT and "standard_aggregate" not in declared:
            common["perfect_exceptions"] = ""
        weight = "number of sources with a score", "sources"
        return Metric(name, title, f"{summary}; {how}", *weight, **{**common, "pooling": "micro", **declared})
    each = " and ".join(dims)
    common |= {"pooling": "none", "dims": dims, "default": False, **declared}
    return Metric(name, f"{title} by {each}", f"{summary}; of each {each}", "none", "sources", **common)


def _mir_eval_metrics() -> tuple[Metric, ...]:
    whole, spans = (_LENGTH, _permutation(True)), (*_spans(30.0, 15.0), _LENGTH, _permutation(False))
    scalars, by_source, by_frame = [], [], []
    for name, key in KEYS.items():
        literature = "@vincent2012" if name.startswith("image") else "@vincent2006"
        row = NAMES.index(name if name in NAMES else name.removeprefix("image_"))
        about = name, partial(_pick, _whole, (0, row)), whole, literature
        of_frames = name, partial(_pick, _frames, (0, row)), spans, literature, ("source", "frame")
        scalars.append(_metric(name, *about))
        by_source.append(_metric(f"source_{name}", *about, ("source",), key=key.format("")))
        by_frame.append(_metric(f"frame_{name}", *of_frames, key=key.format(" Frames")))
    order = Metric(
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
        parameters=whole,
        dims=("source",),
        default=False,
        literature="@vincent2006",
        nominal=True,
        read=partial(_pick, _whole, (1,)),
    )
    return (*scalars, *_invariant_metrics(True), *by_source, *by_frame, order, *_whole_track_metrics(False))


def _invariant_metrics(permutation: bool, **declared: Any) -> tuple[Metric, Metric]:
    about = "si_sdr", _invariant, (_ZERO_MEAN, _permutation(permutation)), "@leroux2019"
    return _metric("si_sdr", *about, **declared), _metric("source_si_sdr", *about, ("source",), **declared)


_SPECTRAL = (
    Parameter("convergence", 1.0, least=0.0, help="weight of the spectral convergence"),
    Parameter("logarithmic", 1.0, least=0.0, help="weight of the difference of log magnitudes"),
    Parameter("linear", 0.0, least=0.0, help="weight of the difference of magnitudes"),
    Parameter("eps", 1e-8, above=0.0, help="smallest square of a magnitude"),
)


def _whole_track_metrics(default: bool) -> tuple[Metric, ...]:
    eps = (Parameter("eps", 1e-7, least=0.0, help="energy added to numerator and denominator"),)
    ratio = "usdr", _whole_track, eps, "@mitsufuji2022; @luo2023"
    distance = "mrstft", _spectral, _SPECTRAL, "@yamamoto2020; @steinmetz2020"
    unfixed: dict[str, Any] = {"perfect": None, "perfect_exceptions": ""}
    least: dict[str, Any] = {"range": (0.0, math.inf), "orientation": "lower", "unit": "", "perfect": 0.0}
    least |= {"perfect_exceptions": "", "default": False}
    return (
        _metric("usdr", *ratio, aliases=("mdx_sdr", "sdx_sdr", "nsdr"), default=default, **unfixed),
        _metric("source_usdr", *ratio, ("source",), **unfixed),
        _metric("mrstft", *distance, aliases=("mr_stft",), **least),
        _metric("source_mrstft", *distance, ("source",), **least),
    )


def _museval_metrics() -> tuple[Metric, ...]:
    origin = Parameter(
        "filters",
        "track",
        choices=("track", "frame"),
        help="filters of the whole track (BSS Eval v4) or of each frame (v3)",
    )
    about = (*_spans(1.0, 1.0), _LENGTH, origin), "@stoeter2018"
    median: dict[str, Any] = {"standard_aggregate": "median"}
    how = "median over frames, then mean over the sources"
    scalars, by_source, by_frame = [], [], []
    for name in ("sdr", "isr", "sir", "sar"):
        shown = f"image_{name}"
        row = NAMES.index(shown if shown in NAMES else name)
        read, frames = partial(_median_over_frames, row), partial(_pick, _track_frames, (row,))
        alias = ("csdr",) if name == "sdr" else ()
        scalars.append(_metric(name, shown, read, *about, how=how, aliases=alias, **median))
        by_source.append(_metric(f"source_{name}", shown, read, *about, ("source",), **median))
        by_frame.append(_metric(f"frame_{name}", shown, frames, *about, ("source", "frame"), **median))
    return (*scalars, *_invariant_metrics(False), *by_source, *by_frame, *_whole_track_metrics(False))


MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", _mir_eval_metrics(), clean, score, literature="@raffel2014")
MUSEVAL = Convention(
    "museval",
    "museval 0.4.1: BSS Eval v4, medians over frames",
    _museval_metrics(),
    partial(clean, lenient=True),
    partial(score, lenient=True),
    literature="@stoeter2018",
)
MDX = replace(
    MUSEVAL,
    name="mdx",
    summary="Music and Sound Demixing Challenges (MDX, SDX): ratios of whole tracks",
    metrics=(*_whole_track_metrics(True), *_invariant_metrics(False, default=False)),
    literature="@mitsufuji2022",
)

TASK = Task(
    "separation",
    "Source separation",
    by_name(MIR_EVAL, MUSEVAL, MDX),
    ("sdr", "image_sdr", "si_sdr"),
    {"mdx": ("usdr", "si_sdr")},
)
