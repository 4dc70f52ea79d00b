"""Drum transcription: reference and estimate are hits of drums at times in seconds; several may coincide.

Drums are General MIDI pitches or common names. A drum map assigns them to classes; hits of other drums are left out on
both sides. Hits of each class are matched separately. `evaluate` and `class_scores` score one pair; `TASK` holds the
metrics of whole datasets, with kinds of errors and a warning of maps that leave out many hits.

Conventions
-----------
* ``mir_eval`` (default): the rules of mir_eval's onsets for each drum: 50 ms, 0 if a side is empty; 5 classes.
* ``mirex``: 30 ms and 3 classes, as in MIREX.
* ``adtof``: 50 ms and 5 classes; ratios with denominator 0 are 1, and absent classes count.

Metrics
-------
* ``f_measure``, ``precision``, ``recall``: hits of all classes together.
* ``mean_f_measure``, ``mean_precision``, ``mean_recall``: means over the classes.
* ``by_class``: counts of matched, reference and estimated hits of each class.
* ``class_f_measure``, ``class_precision``, ``class_recall``, on request: rates of each class.

References
----------
Zehren, Alunno and Bientinesi, ADTOF: a large dataset of non-synthetic music for automatic drum transcription, ISMIR
2021; Vogl, Widmer and Knees, Towards multi-instrument drum transcription, DAFx 2018; MIREX audio drum detection, 2005
and 2017.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..errors import AnnotationError, MetricError, refuse_unknown, suggest
from ..kernels.matching import match
from ..kernels.ratios import Scored, rate, share
from ..ragged import Column, Float, Int, Ragged, offsets_of, rows_of
from ..theory.general_midi import DRUM_MAPS, DrumMap, pitch_of
from ..theory.pitch import HIGHEST_MIDI
from .base import Convention, Doubt, Pairs, Shared, Sparse, Task, by_name, computed_by, refuse_unjudged, score_by
from .cleaning import Cleaned, in_order, inspected, set_aside, usable_pair
from .edits import ErrorBudget
from .event_errors import HITS, align_hits
from .events import COUNTED, MAX_TIME, OF_COUNTS, matched, rates_of, tabulate
from .measures import Measure, Parameter, Value, Weight, family, metric, metrics_in
from .pair import PairFunctions, documented
from .util import Array

__all__ = ["DRUM_MAPS", "TASK", "DrumMap", "class_scores", "evaluate"]
OWN = "classes"  # Name of the drum map defined by the evaluation's classes


@dataclass(frozen=True, slots=True)
class ClassHits:
    """Counts of hits of each class of pairs."""

    classes: tuple[str, ...]
    matched: Int
    references: Int
    """With octaves, the sum of matched hits and misses, which may stem from different rates."""
    estimates: Int  # int64 (pairs, classes)


_BATCH = 2**16  # Hits of both sides processed at once, so that results fit into the cache


def _classes_of(rows: Ragged, drums: DrumMap) -> Int:
    """Class of each hit; -1 for none."""
    classes = [drums.class_of(label) for label in rows.labels]
    numbers = np.array([*(-1 if number is None else number for number in classes), -1], dtype=np.int64)
    return numbers[rows.columns.get("label", np.full(len(rows.columns["time"]), -1))]


def _doubled(times: Float, counts: Int) -> tuple[Float, Int]:
    """Insert a hit in the middle between neighbours."""
    more = np.maximum(2 * counts - 1, 0)
    offsets, row = offsets_of(more), rows_of(counts)
    position = offsets[row] + 2 * (np.arange(len(times)) - offsets_of(counts)[row])
    doubled = np.empty(int(offsets[-1]))
    doubled[position] = times
    between = np.flatnonzero(row[1:] == row[:-1])
    doubled[position[between] + 1] = (times[between] + times[between + 1]) / 2
    return doubled, more


def map_of(name: str, own: DrumMap | None) -> DrumMap:
    """Drum map of a name, of which one may be an evaluation's own."""
    return own if own is not None and name == OWN else DRUM_MAPS[name]


@dataclass(eq=False)
class Drums(Shared):
    """The hits of pairs with cached matchings, for the map of an evaluation's own classes or None."""

    own: DrumMap | None
    pairs: Pairs

    @computed_by("map", "window", "octave")
    def classes(self, name: str, window: float, octave: bool) -> ClassHits:
        """Counts of hits by class, from a largest matching of the hits of each class of each pair.

        With ``octave``, hits at twice or half the rate of the reference are right.
        """
        drums = map_of(name, self.own)
        size = len(drums.classes)
        # Times of the hits of each class of each pair, and their numbers, pair by pair.
        sides: list[tuple[Float, Int]] = []
        for rows in self.pairs.lay_out():
            number = _classes_of(rows, drums)
            items = np.flatnonzero(number >= 0)
            key = rows_of(rows.counts[0])[items] * size + number[items]
            ordered = rows.columns["time"][items[np.argsort(key, kind="stable")]]
            sides.append((ordered, np.bincount(key, minlength=len(rows) * size).astype(np.int64)))
        reference, estimate = sides
        times, sizes = _doubled(*reference) if octave else reference
        matched_hits = match(times, sizes, *estimate, window).counts
        hits = match(*reference, *_doubled(*estimate), window).counts if octave else matched_hits
        counts = matched_hits, matched_hits + reference[1] - hits, estimate[1]
        return ClassHits(drums.names, *(count.reshape(len(self.pairs), size) for count in counts))


_PARAMETERS = (
    Parameter("window", 0.05, "s", help="largest distance of matched hits", least=0.0),
    Parameter("map", "adtof5", choices=tuple(DRUM_MAPS), help="drum map, which assigns drums to classes"),
    Parameter("octave", False, help="also accept hits at twice or half the rate of the reference"),
)
_EMPTY = Parameter(
    "zero_division", 0.0, choices=(0.0, 1.0), help="precision without estimates, and recall without references"
)
_ABSENT = Parameter(
    "absent", "ignored", choices=("ignored", "counted"), help="whether classes that are absent on both sides count"
)
_WEIGHTS, _RATES = rates_of("hits")
_LITERATURE = "@zehren2021; @gillick2019; @vogl2018; @mirex2017drums"


@family(
    _WEIGHTS,
    {
        name: {"title": title, "summary": f"{summary}, of all classes together", "aliases": (f"sum_{name}",)}
        for name, (title, summary) in _RATES.items()
    },
    parameters=(*_PARAMETERS, _EMPTY),
    itemwise=True,
    literature=_LITERATURE,
)
def rates(what: str, drums: Drums, measure: Measure) -> Scored:
    """Rate of the hits of all classes together."""
    classes = drums.classes(measure)
    counts = (column.sum(axis=1) for column in (classes.matched, classes.references, classes.estimates))
    return rate(what, *counts, otherwise=float(measure["zero_division"]))


def _class_rates(name: str, drums: Drums, measure: Measure) -> Scored | Sparse:
    """Rate of the hits of each class that counts, those of either side or all, or their mean."""
    classes, (kind, what) = drums.classes(measure), name.split("_", 1)
    zero_division = float(measure["zero_division"])
    score, _ = rate(what, classes.matched, classes.references, classes.estimates, otherwise=zero_division)
    counting = (classes.references + classes.estimates > 0) | (measure["absent"] == "counted")
    if kind == "class":
        index, attrs = np.argwhere(counting), {"long_name": "score by class", "units": "1"}
        return Sparse(("class",), (classes.classes,), index, score[tuple(index.T)], attrs, float("nan"))
    total = np.zeros(len(score))
    for column in np.where(counting, score, 0.0).T:  # summed sequentially, whatever the number of pairs
        total += column
    return share(total, counting.sum(axis=1), zero_division)


means = family(
    Weight("number of classes that count", "classes"),
    {
        f"mean_{name}": {"title": f"{title}, mean over classes", "summary": f"mean over the classes of the {summary}"}
        for name, (title, summary) in _RATES.items()
    },
    parameters=(*_PARAMETERS, _EMPTY, _ABSENT),
    pooling="micro",
    itemwise=True,
    literature=_LITERATURE,
)(_class_rates)
rates_by_class = family(
    Weight("none; by_class has the numbers of hits", "hits"),
    {
        f"class_{name}": {"title": f"{title} by class", "summary": f"{summary}, of each class"}
        for name, (title, summary) in _RATES.items()
    },
    parameters=(*_PARAMETERS, _EMPTY, _ABSENT),
    pooling="none",
    dims=("class",),
    default=False,
    literature=_LITERATURE,
)(_class_rates)


@metric(
    "Hits by class",
    Weight("none", "hits"),
    **OF_COUNTS,
    parameters=_PARAMETERS,
    dims=("class", "count"),
    literature=_LITERATURE,
)
def by_class(drums: Drums, measure: Measure) -> Sparse:
    """Numbers of matched, reference and estimated hits of each class."""
    classes = drums.classes(measure)
    counts = np.stack([classes.matched, classes.references, classes.estimates], axis=2)
    return tabulate(counts, ("class", "count"), (classes.classes, COUNTED), "hits by class")


METRICS = metrics_in(globals())


def clean(rows: Ragged, own: DrumMap | None = None) -> Cleaned:
    """Clean rows of hits and sort them by time.

    Flaws are times that are not finite or later than 30000 s, hits without a drum, and unknown drums. Hits that are
    unordered or at negative times are counted in `repairs`. All hits are kept, including simultaneous ones.
    """
    times, texts = rows.columns["time"], [*rows.labels, ""]
    findings, problems, irregular = inspected("hits", rows, counted=("negative", "unsorted"))
    late = f"time is later than {MAX_TIME:.0f} s, so it may not be in seconds"
    problems.append((times > MAX_TIME, lambda item: f"{late}: {times[item]}"))
    label = rows.columns.get("label", np.full(len(times), -1))
    understood = [bool(text) and (pitch_of(text) if own is None else own.class_of(text)) is not None for text in texts]

    def describe(item: int) -> str:
        text = texts[label[item]]
        if not text:
            return "hit without a drum"
        if text.strip().lstrip("+-").replace(".", "", 1).isdecimal():
            return f"not a General MIDI pitch (an integer from 0 to {HIGHEST_MIDI}): {text}"
        names = own.names if own is not None else dict.fromkeys(n for each in DRUM_MAPS.values() for n in each.names)
        return (
            f"not a drum: {text!r}; use a General MIDI pitch, a common name ({suggest(text, tuple(names))}), "
            f"or declare classes"
        )

    if not all(understood[:-1]) or (label < 0).any():
        problems.append((~np.array(understood, dtype=np.bool_)[label], describe))
    cleaned = set_aside(rows, problems, irregular)
    return in_order(cleaned) if "unsorted" in findings else cleaned


def evidence(own: DrumMap | None, reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the hits of both sides that belong to a class, with verdicts.

    Columns are ``reference`` and ``estimate`` (seconds; NaN if not matched), in order of time, ``class`` and
    ``verdict``: ``hit``, ``missed`` or ``extra``.
    """
    refuse_unjudged(measure, METRICS, "hits")
    if measure["octave"]:
        raise MetricError(f"{measure} accepts several rates, so single hits have no verdict; leave octave out")
    drums, sides = map_of(str(measure["map"]), own), usable_pair(reference, estimate, partial(clean, own=own))
    placed = [(rows.columns["time"], _classes_of(rows, drums)) for rows in sides]
    parts = []
    for number, name in enumerate(drums.names):
        left, right = (time[classes == number] for time, classes in placed)
        events = matched(left, right, float(measure["window"]), "optimal")
        verdict = events.pop("verdict")
        parts.append({**events, "class": np.full(len(verdict), name), "verdict": verdict})
    whole = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    order = np.argsort(np.where(np.isnan(whole["reference"]), whole["estimate"], whole["reference"]), kind="stable")
    return {key: column[order] for key, column in whole.items()}


_FEW = 5  # Number of hits that may be left out without a warning


def doubt_map(own: DrumMap | None, measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report a map that leaves out at least a third of the hits of a side."""
    for name in dict.fromkeys(str(measure["map"]) for measure in measures if "map" in measure.parameters):
        drums = map_of(name, own)
        for side, annotation in (("estimate", estimate), ("reference", reference)):
            counts = Counter(annotation.labels or ())
            lost = [label for label in counts if drums.class_of(label) == -1]
            number, total = sum(counts[label] for label in lost), sum(counts.values())
            if number > _FEW and 3 * number >= total:
                shown = ", ".join(map(repr, sorted(lost)[:3]))
                return (
                    f"{number} of {total} hits of the {side} ({shown}) are not in the map {name} and left out: "
                    "is it the right map?"
                )
    return ""


def _convention(
    name: str, summary: str, literature: str, defaults: dict[str, Value], classes: Classes | None = None
) -> Convention:
    """Make a convention with its defaults; classes of the evaluation become the default drum map."""
    drum_map = None if classes is None else DrumMap(classes.tops)
    metrics = [metric.with_defaults(**defaults) for metric in METRICS]
    if drum_map is not None:
        choice = replace(_PARAMETERS[1], default=OWN, choices=(OWN, *DRUM_MAPS))
        metrics = [
            replace(one, parameters=tuple(choice if each.name == "map" else each for each in one.parameters))
            for one in metrics
        ]
    return Convention(
        name,
        summary,
        tuple(metrics),
        partial(clean, own=drum_map),
        partial(score_by, partial(Drums, drum_map), at_once=_BATCH),
        explain=partial(evidence, drum_map),
        bind=partial(_convention, name, summary, literature, defaults),
        doubts=(
            Doubt(
                "map",
                "at least a third of the drum hits of a side, and more than five, belong to no class of the drum map "
                "and are left out",
                of_pair=partial(doubt_map, drum_map),
            ),
        ),
        literature=literature,
    )


MIR_EVAL = _convention("mir_eval", "mir_eval's onsets for each drum: 50 ms, 0 if a side is empty", "@raffel2014", {})
MIREX = _convention("mirex", "MIREX: 30 ms, 3 classes", "@downie2010", {"window": 0.03, "map": "adtof3"})
ADTOF = _convention(
    "adtof",
    "ADTOF: 50 ms, 5 classes; ratios with denominator 0 are 1, and all classes count",
    "@zehren2021",
    {"zero_division": 1.0, "absent": "counted"},
)


def _numbers(rows: Ragged, measure: Measure) -> Int:
    """Class of each hit under a measure, -1 for none; by the labels under a map of the user's own."""
    name = str(measure["map"])
    return _classes_of(rows, DRUM_MAPS[name]) if name in DRUM_MAPS else rows.columns["label"]


TASK = Task(
    "drums",
    "Drum transcription",
    by_name(MIR_EVAL, MIREX, ADTOF),
    ("f_measure", "mean_f_measure"),
    {"mirex": ("mean_f_measure", "f_measure")},
    errors=ErrorBudget(HITS, partial(align_hits, _numbers)),
)

Hits = tuple[Any, Iterable[object]]  # Times in seconds, and a drum for each: General MIDI pitches or names


def _row(rules: Convention, side: str, hits: Hits) -> Ragged:
    """Make a clean row of hits."""
    times, codes = np.asarray(hits[0], dtype=np.float64).reshape(-1), dict[str, int]()
    label = np.array([codes.setdefault(str(drum), len(codes)) for drum in hits[1]], dtype=np.int64)
    if len(label) != len(times):
        raise AnnotationError(f"{side}: {len(times)} times, but {len(label)} drums")
    counts = (np.array([len(times)], dtype=np.int64),)
    return rules.clean(Ragged({"time": times, "label": label}, counts, tuple(codes))).checked(side)


def _measures(name: str, rules: Convention, given: dict[str, Value], dims: tuple[str, ...]) -> list[Measure]:
    refuse_unknown(name, given, (parameter.name for metric in rules.metrics for parameter in metric.parameters))
    return [metric.measure(**given) for metric in rules.metrics if metric.dims == dims]


_documented = documented(
    """
    Parameters
    ----------
    reference_times, estimated_times : (n,) and (m,), seconds
        In any order.
    reference_drums, estimated_drums : sequence of int or str
        A drum for each time: General MIDI pitches or common names.
    convention : {"mir_eval", "mirex", "adtof"}
    classes : Classes or None
        Custom drum map: a tree of classes.
    **parameters
        ``window``, ``map``, ``octave``, ``zero_division`` and ``absent``, instead of the convention's.

    Raises
    ------
    ValueError
        For times that are not finite or later than 30000 s, unknown drums, and different numbers of times and drums.
    """,
    METRICS,
)


@_documented
def evaluate(
    reference_times: Array,
    reference_drums: Iterable[object],
    estimated_times: Array,
    estimated_drums: Iterable[object],
    convention: str = "mir_eval",
    classes: Classes | None = None,
    **parameters: Value,
) -> OrderedDict[str, float]:
    """Compute all scalar scores of one estimate.

    Returns
    -------
    OrderedDict of str to float
        Scores by metric.

    Examples
    --------
    >>> hits = np.array([0.5, 0.5, 1.0]), [36, 42, 38], np.array([0.51, 1.0]), ["kick", "snare"]
    >>> found = evaluate(*hits)
    >>> round(found["f_measure"], 4), round(found["mean_f_measure"], 4)
    (0.8, 0.6667)
    >>> evaluate(*hits, convention="adtof")["mean_f_measure"]
    0.8
    """
    rules = TASK.convention(convention, classes)
    measures = _measures("evaluate", rules, parameters, ())
    sides = (reference_times, reference_drums), (estimated_times, estimated_drums)
    scores = rules.score_arrays(partial(_row, rules), *sides, measures)
    return OrderedDict((measure.metric.name, value) for measure, value in zip(measures, scores.tolist(), strict=True))


@_documented
def class_scores(
    reference_times: Array,
    reference_drums: Iterable[object],
    estimated_times: Array,
    estimated_drums: Iterable[object],
    convention: str = "mir_eval",
    classes: Classes | None = None,
    **parameters: Value,
) -> dict[str, dict[str, float]]:
    """F-measure, precision and recall of each counted class of one estimate.

    Returns
    -------
    dict of str to dict of str to float
        By class.

    References
    ----------
    @zehren2021; @gillick2019; @vogl2018; @mirex2017drums

    Examples
    --------
    >>> class_scores(np.array([0.5, 1.0]), [36, 38], np.array([0.51]), ["kick"])["BD"]
    {'f_measure': 1.0, 'precision': 1.0, 'recall': 1.0}
    """
    rules = TASK.convention(convention, classes)
    measures = _measures("class_scores", rules, parameters, ("class",))
    reference = _row(rules, "reference", (reference_times, reference_drums))
    estimate = _row(rules, "estimate", (estimated_times, estimated_drums))
    tables = rules.score(Pairs.in_order(reference, estimate), measures, rules.grids[0]).extras
    scores: dict[str, dict[str, float]] = {}
    for measure in measures:
        sparse = tables[measure.variable]
        for (_, number), value in zip(sparse.index.tolist(), sparse.value.tolist(), strict=True):
            scores.setdefault(sparse.coords[0][number], {})[measure.metric.name.removeprefix("class_")] = value
    return scores


def _of_four(function: Callable[..., float]) -> Callable[..., float]:
    """Convert a function of two sides to one of the times and drums of both."""

    def of_four(
        reference_times: Array,
        reference_drums: Iterable[object],
        estimated_times: Array,
        estimated_drums: Iterable[object],
        **parameters: Value,
    ) -> float:
        return function((reference_times, reference_drums), (estimated_times, estimated_drums), **parameters)

    of_four.__name__ = of_four.__qualname__ = function.__name__
    arguments = "reference_times, reference_drums, estimated_times, estimated_drums"
    of_four.__doc__ = (function.__doc__ or "").replace("reference, estimate", arguments)
    return of_four


_pair_functions = PairFunctions(METRICS, partial(MIR_EVAL.score_arrays, partial(_row, MIR_EVAL))).functions(
    "As for `evaluate`."
)
globals().update({name: _of_four(function) for name, function in _pair_functions.items()})
