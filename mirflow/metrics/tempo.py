"""Tempo estimation: reference and estimate are one or two tempi in beats per minute, with or without salience.

The functions are those of ``mir_eval.tempo``, with the same arguments, results and errors; `TASK` holds the metrics of
whole datasets, with kinds of errors and a warning of tempi that are probably not in beats per minute.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2, with the accuracies and octave errors of single tempi on request.
* ``madmom``: evaluation of madmom: any number of tempi, within 4 %; pairs with two empty sides are right. Its functions
  are in `mirflow.metrics.tempo.madmom`.

Metrics
-------
* ``p_score``, ``one_correct``, ``both_correct`` (`detection`): shares of the salience, at least one and both of the
  reference's tempi, estimated within 8 %.
* ``accuracy0``, ``accuracy1``, ``accuracy2``, on request: the more salient tempo is equal in whole beats per minute,
  within 4 %, or within 4 % of a multiple by 2 or 3.
* In ``madmom``: ``p_score``, ``any_correct``, ``all_correct``, ``accuracy1`` and ``accuracy2``.
* ``oe1``, ``oe2``, ``aoe1``, ``aoe2``, on request: octave errors and their absolute values.
* ``absolute_error``, on request: beats per minute between the more salient tempi.

References
----------
McKinney, Moelants, Davies and Klapuri, Journal of New Music Research, 2007; Gouyon et al. 2006; Schreiber and Müller,
ISMIR 2018; Schreiber, Urbano and Müller, Transactions of ISMIR, 2020.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.collection import Collection
from ..errors import MetricError, refuse_unknown, warn_caller
from ..kernels.ratios import divide
from ..ragged import Bool, Column, Float, Int, Ragged, rows_of
from . import tempo_madmom as madmom
from .arguments import first_share
from .base import Convention, Doubt, Grid, Pairs, Scores, Task, by_name, read_pair, read_scores, refuse_unjudged
from .cleaning import Cleaned, usable_pair
from .edits import RIGHT, Edits, ErrorBudget, ErrorKind
from .measures import Measure, Parameter, Weight, family, metrics_in
from .pair import PairFunctions, documented
from .util import Array

__all__ = ["TASK", "detection", "evaluate", "madmom", "validate", "validate_tempi"]
FACTORS = (1.0, 2.0, 1 / 2, 3.0, 1 / 3)  # Factors of the metrical levels that are right if the level is ignored


@dataclass(frozen=True, slots=True)
class Tempi:
    """One or two tempi of each track."""

    tempo: Float  # 0 if there is no second one: float64 (n, 2), beats per minute
    first_share: Float  # float64 (n,): share of the first tempo in the salience of both; 1 for a single tempo
    given: Int  # Number of annotated tempi, including zeros: int64 (n,)

    @property
    def estimated(self) -> Float:
        """Both tempi of an estimate, repeating a single tempo and with NaN for none: float64 (n, 2)."""
        estimated = np.where(self.given[:, np.newaxis] == 0, np.nan, self.tempo)
        estimated[:, 1] = np.where(self.given == 1, estimated[:, 0], estimated[:, 1])
        return estimated


def lay_out(rows: Ragged, chosen: Int | slice = slice(None)) -> Tempi:
    """Convert the chosen rows of one or two tempi, with or without saliences, to arrays."""
    counts = rows.counts[0]
    owner = rows_of(counts)
    position = np.arange(len(owner)) - rows.offsets[:-1][owner]
    tempo = np.zeros((len(rows), 2))
    tempo[owner, position] = rows.columns["tempo"]
    salience = np.full((len(rows), 2), np.nan)
    if "salience" in rows.columns:
        salience[owner, position] = rows.columns["salience"]
    share = np.where(counts == 2, first_share(salience), np.minimum(counts, 1))
    return Tempi(tempo[chosen], share[chosen], counts[chosen])


def find_hits(reference: Float, estimate: Float, tol: float) -> Bool:
    """Mark the tempi of the reference that were found: bool (n, 2).

    A reference of 0 is never found; NaN in an estimate matches nothing. `tol` is a share of the reference.
    """
    positive = reference > 0
    divisor = np.where(positive, reference, 1.0)[:, :, np.newaxis]
    with np.errstate(over="ignore"):
        error = np.abs(reference[:, :, np.newaxis] - estimate[:, np.newaxis, :]) / divisor
    return np.asarray((error <= tol).any(axis=2) & positive)


class TempoPairs:
    """The tempi of both sides of pairs."""

    def __init__(self, reference: Tempi, estimate: Tempi) -> None:
        self.reference, self.estimate = reference, estimate
        self.tracks = np.asarray((reference.tempo > 0).any(axis=1))  # Pairs whose reference has a tempo above 0
        main = []
        for tempi in (reference, estimate):
            first, second = tempi.tempo.T
            main.append(np.where((second > 0) & ((first <= 0) | (tempi.first_share < 0.5)), second, first))
        self.main = main[0], main[1]
        """The more salient tempo of each side, the first of two equal ones; 0 if none is above 0: float64 (pairs,)."""


def weigh(hits: Bool, first_share: Float) -> Float:
    """Share of the salience of the tempi that were found: float64 (n,)."""
    return first_share * hits[:, 0] + (1.0 - first_share) * hits[:, 1]


def _tolerance(measure: Measure) -> float:
    tol = float(measure["tol"])
    if not 0 <= tol <= 1:
        raise MetricError(f"{measure}: invalid tolerance {tol}: must lie in the range [0, 1]")
    return tol


_TRACKS = Weight("number of tracks with a tempo", "tracks")
_NEAREST = "times 1, 2, 1/2, 3 or 1/3, whichever is nearest"
_TOL = Parameter("tol", 0.08, least=0.0, help="largest deviation as a share of the reference", mir_eval="tol")


@family(
    {"p_score": _TRACKS, "one_correct": _TRACKS, "both_correct": Weight("number of tracks with two tempi", "tracks")},
    {
        "p_score": {
            "title": "P-score",
            "key": "P-score",
            "summary": "share of the reference's salience that belongs to estimated tempi",
            "perfect_exceptions": "the other tempo's salience if one of the reference's two tempi is 0",
        },
        "one_correct": {
            "title": "One correct",
            "key": "One-correct",
            "summary": "1 if the estimate has at least one of the reference's tempi",
        },
        "both_correct": {
            "title": "Both correct",
            "key": "Both-correct",
            "summary": "1 if the estimate has both tempi of the reference",
            "perfect_exceptions": "0 if the reference has one tempo",
        },
    },
    pooling="micro",
    mir_eval="detection",
    itemwise=True,
    parameters=(_TOL,),
    literature="@mckinney2007; equation 8 of @downie2010",
)
def _detections(what: str, tempi: TempoPairs, measure: Measure) -> tuple[Float | Bool, Bool]:
    """Whether one or both tempi of the reference were found, and their share of its salience."""
    hits = find_hits(tempi.reference.tempo, tempi.estimate.estimated, _tolerance(measure))
    if what == "both_correct":
        return np.asarray(hits.all(axis=1)), np.asarray((tempi.reference.tempo > 0).all(axis=1))
    one_correct = what == "one_correct"
    return np.asarray(hits.any(axis=1)) if one_correct else weigh(hits, tempi.reference.first_share), tempi.tracks


_WITHIN = "1 if the (more salient) tempo of the estimate is within the tolerance of the reference's"


@family(
    _TRACKS,
    {
        "accuracy0": {
            "title": "Accuracy 0",
            "aliases": ("Accuracy0",),
            "summary": "1 if the (more salient) tempi of both sides are equal in whole beats per minute",
            "parameters": (),
            "literature": "@schreiber2018",
        },
        "accuracy1": {"title": "Accuracy 1", "aliases": ("Accuracy1",), "summary": _WITHIN},
        "accuracy2": {
            "title": "Accuracy 2",
            "aliases": ("Accuracy2",),
            "summary": f"{_WITHIN} times 1, 2, 1/2, 3 or 1/3",
        },
    },
    pooling="micro",
    parameters=(replace(_TOL, default=0.04),),
    default=False,
    literature="@gouyon2006",
)
def _accuracies(what: str, tempi: TempoPairs, measure: Measure) -> tuple[Bool, Bool]:
    """Whether the main tempo is right."""
    reference, estimate = tempi.main
    both = (reference > 0) & (estimate > 0)
    if what == "accuracy0":
        # Halves are rounded to the even number.
        return (np.rint(reference) == np.rint(estimate)) & both, tempi.tracks
    tolerance, near = _tolerance(measure), np.zeros(len(reference), dtype=np.bool_)
    for factor in FACTORS if what == "accuracy2" else (1.0,):
        with np.errstate(over="ignore", invalid="ignore"):
            multiple = reference * factor
            near |= (np.abs(multiple - estimate) <= multiple * tolerance) & np.isfinite(multiple)
    return near & both, tempi.tracks


_ERRORS = {
    "oe1": ("Octave error", ("OE1", "OE"), "octaves from the reference up to the estimate"),
    "oe2": ("Octave error 2", ("OE2",), f"octaves up to the estimate {_NEAREST}"),
    "aoe1": ("Absolute octave error", ("AOE1", "AOE"), "octaves between the reference and the estimate"),
    "aoe2": ("Absolute octave error 2", ("AOE2",), f"octaves between the reference and the estimate {_NEAREST}"),
    "absolute_error": (
        "Absolute error",
        ("MAE",),
        "absolute difference of the (more salient) tempi of both sides in beats per minute",
    ),
}


@family(
    _TRACKS,
    {
        name: {
            "title": title,
            "aliases": aliases,
            "summary": summary,
            "range": (float("-inf") if name.startswith("oe") else 0.0, float("inf")),
            "orientation": "none" if name.startswith("oe") else "lower",
            "unit": "BPM" if name == "absolute_error" else "octaves",
            "literature": "the mean absolute error of regression" if name == "absolute_error" else "@schreiber2020",
        }
        for name, (title, aliases, summary) in _ERRORS.items()
    },
    pooling="micro",
    perfect=0.0,
    default=False,
)
def _errors(what: str, tempi: TempoPairs, measure: Measure) -> tuple[Float, Bool]:
    """Octaves or beats per minute between the main tempi; NaN if either is missing."""
    reference, estimate = tempi.main
    if what == "absolute_error":
        return np.where((reference > 0) & (estimate > 0), np.abs(estimate - reference), np.nan), tempi.tracks
    # The estimate may be multiplied by a factor first; the (first) error closest to 0 counts.
    both = (reference > 0) & (estimate > 0)
    error = np.full(len(reference), np.nan)
    # The ratio of extreme tempi may overflow or underflow; then the error is infinite.
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ratio = divide(estimate, reference, 1.0, where=both)
        for factor in FACTORS if what.endswith("2") else (1.0,):
            octaves = np.log2(ratio * factor)
            nearer = both & ~(np.abs(octaves) >= np.abs(error))
            error[nearer] = octaves[nearer]
    return error if what.startswith("oe") else np.abs(error), tempi.tracks


METRICS = metrics_in(globals())


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs of tempo annotations.

    Weights are 1 per track; 0 without a reference, and for `both_correct` if the reference has fewer than two tempi
    above 0. Without an estimate, errors are NaN and other scores 0.
    """
    tempi = TempoPairs(*(lay_out(rows, row) for rows, row in pairs.sides))
    return read_scores(measures, tempi, len(pairs))


def score_pair(reference: Array, estimate: Array, measures: Sequence[Measure]) -> list[float]:
    """Check one pair of arrays and score it."""
    sides = []
    for tempi in (reference, estimate):
        if np.size(tempi) not in (1, 2) or not np.isfinite(tempi).all() or np.min(tempi) < 0:
            raise ValueError(f"tempi={tempi} must be one or two non-negative numbers")
        tempo = np.zeros((1, 2))
        tempo[0, : np.size(tempi)] = tempi
        sides.append(Tempi(tempo, np.ones(1), np.array([np.size(tempi)])))
    return read_pair(measures, TempoPairs(*sides))


_scores = PairFunctions(METRICS, score_pair)

_documented = documented(
    """
    Parameters
    ----------
    reference_tempi, estimated_tempi : (2,), beats per minute
        A reference of 0 cannot be found.
    reference_weight : float
        Share of the first reference tempo in the total salience, in [0, 1].

    Raises
    ------
    ValueError
        For tempi refused by `validate_tempi` and a weight outside [0, 1].
    """,
    METRICS,
)


def validate_tempi(tempi: Array, reference: bool = True) -> None:
    """Check for two tempi, of which a reference has one above 0.

    Parameters
    ----------
    tempi : (2,), beats per minute
    reference : bool

    Raises
    ------
    ValueError
        For another number of tempi, tempi that are negative or not finite, and a reference of zeros.

    Examples
    --------
    >>> validate_tempi(np.array([0.0, 120.0]))
    """
    if tempi.size != 2:
        raise ValueError("tempi must have exactly two values")
    if not np.isfinite(tempi).all() or (tempi < 0).any():
        raise ValueError(f"tempi={tempi} must be non-negative numbers")
    if reference and not tempi.any():
        raise ValueError(f"reference tempi={tempi} must have one value greater than zero")


@_documented
def validate(reference_tempi: Array, reference_weight: float, estimated_tempi: Array) -> None:
    """Check both sides of a pair."""
    validate_tempi(reference_tempi, reference=True)
    validate_tempi(estimated_tempi, reference=False)
    if not 0 <= reference_weight <= 1:
        raise ValueError("Reference weight must lie in range [0, 1]")


@_documented
def detection(
    reference_tempi: Array, reference_weight: float, estimated_tempi: Array, tol: float = 0.08
) -> tuple[float, bool, bool]:
    """P-score, and whether one and both of two tempi were found.

    Returns
    -------
    p_score : float
        Salience of the tempi that were found.
    one_correct, both_correct : bool
        Whether at least one and whether both were found.

    Raises
    ------
    ValueError
        For a tolerance outside [0, 1].

    Warns
    -----
    MirflowWarning
        For a tolerance of 0.

    Examples
    --------
    >>> detection(np.array([60.0, 120.0]), 0.75, np.array([60.0, 180.0]))
    (0.75, True, False)
    """
    validate(reference_tempi, reference_weight, estimated_tempi)
    if not 0 <= tol <= 1:
        raise ValueError(f"invalid tolerance {tol}: must lie in the range [0, 1]")
    if tol == 0.0:
        warn_caller("A tolerance of 0.0 may not lead to the results you expect.")
    reference, estimate = (
        np.asarray(tempi, dtype=np.float64).reshape(1, 2) for tempi in (reference_tempi, estimated_tempi)
    )
    hits = find_hits(reference, estimate, tol)
    share = np.array([reference_weight], dtype=np.float64)
    return float(weigh(hits, share)[0]), bool(hits.any()), bool(hits.all())


@_documented
def evaluate(
    reference_tempi: Array, reference_weight: float, estimated_tempi: Array, **kwargs: Any
) -> OrderedDict[str, float]:
    """P-score, One-correct and Both-correct of one estimate.

    Examples
    --------
    >>> evaluate(np.array([60.0, 120.0]), 0.75, np.array([60.0, 180.0]))["P-score"]
    0.75
    """
    refuse_unknown("evaluate", kwargs, ("reference_tempi", "reference_weight", "estimated_tempi", *_scores.parameters))
    scores = detection(reference_tempi, reference_weight, estimated_tempi, **kwargs)
    return OrderedDict(zip((metric.key for metric in _scores.keyed), scores, strict=True))


def clean(rows: Ragged) -> Cleaned:
    """Find rows that are not valid tempo annotations, and empty those of zeros, which mean that there is no tempo.

    Flaws are a third tempo, tempi that are negative or infinite, and saliences that are negative or infinite; NaN
    means that a tempo or a salience is missing.
    """
    tempo = np.where(np.isnan(rows.columns["tempo"]), 0.0, rows.columns["tempo"])
    rows = replace(rows, columns={**rows.columns, "tempo": tempo})
    owner = rows_of(rows.counts[0])
    position = np.arange(len(owner)) - rows.offsets[:-1][owner]
    third = (position > 1, lambda item: f"a track has one or two tempi, but this is the third: {tempo[item]}")
    return madmom.clean(rows, [third])


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the tempi of the reference with verdicts, for a measure of two tempi.

    Columns are ``reference`` and ``estimate`` (the nearest one) in beats per minute; ``share`` of the salience;
    ``verdict``, ``right`` or ``wrong``.
    """
    refuse_unjudged(measure, METRICS, "tempi")
    sides = [lay_out(rows) for rows in usable_pair(reference, estimate, clean)]
    count = int(sides[0].given[0])
    tempo, estimated = sides[0].tempo[0, :count], sides[1].estimated[0]
    nearest = estimated[np.abs(tempo[:, np.newaxis] - estimated).argmin(axis=1)]
    hits = find_hits(sides[0].tempo, sides[1].estimated, float(measure["tol"]))[0, :count]
    share = sides[0].first_share[0]
    return {
        "reference": tempo,
        "estimate": nearest,
        "share": np.array([share, 1 - share])[:count],
        "verdict": np.where(hits, "right", "wrong"),
    }


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2, and the accuracies and octave errors of single tempi",
    METRICS,
    clean,
    score,
    explain=evidence,
    literature="@raffel2014",
)

_SLOWEST, _FASTEST = 15.0, 400.0  # Bounds of plausible tempi in beats per minute


def suspect_unit(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations with a tempo that is not plausible."""
    tempo = annotations.rows.columns["tempo"]
    return annotations.holding(((tempo > 0) & (tempo < _SLOWEST)) | (tempo > _FASTEST))


def doubt_unit(annotation: Annotation) -> str:
    """Report a tempo that is probably not in beats per minute, but a confidence, a period or a frequency."""
    tempo = annotation.columns["tempo"].tolist()
    odd = next((value for value in tempo if 0 < value < _SLOWEST or value > _FASTEST), None)
    if odd is None:
        return ""
    usual = [value for value in tempo if _SLOWEST <= value <= _FASTEST]
    if usual and odd <= 1:
        return (
            f"{odd:g} next to {usual[0]:g} is hardly a tempo in beats per minute: is it a confidence? Give the tempo "
            "alone, or two tempi and the strength of the first"
        )
    hint = f"in ms? 60000 / {odd:g} = {60000 / odd:.4g} beats per minute"
    if odd < _SLOWEST:
        hint = f"in s (60 / {odd:g} = {60 / odd:.4g} beats per minute), or a frequency in Hz (60 x {odd:g} = "
        hint += f"{60 * odd:.4g})?"
    return f"a tempo of {odd:g} beats per minute: is it a period {hint}"


_KINDS = (
    ErrorKind("half", "half or a third of the tempo"),
    ErrorKind("double", "twice or three times the tempo"),
    ErrorKind("other", "another tempo"),
    ErrorKind("near", "a tempo within the tolerance that has another value, place or salience"),
    ErrorKind("missing", "a second tempo of the reference without an estimate"),
    ErrorKind("extra", "a second estimate without a tempo of the reference"),
)
_HALF, _DOUBLE, _OTHER, _NEAR, _MISSING, _EXTRA = range(len(_KINDS))
_OCTAVES = ((_HALF, (1 / 2, 1 / 3)), (_DOUBLE, (2.0, 3.0)))
_TOLERANCE = 0.08


def _classify(reference: float, estimate: float, tolerance: float) -> int:
    if abs(reference - estimate) <= tolerance * reference:
        return RIGHT
    for kind, factors in _OCTAVES:
        if any(abs(reference * factor - estimate) <= tolerance * reference * factor for factor in factors):
            return kind
    return _OTHER


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the edits of tempi, in the order in which most of them are right."""
    tolerance = float(measure.parameters.get("tol", _TOLERANCE))
    tempi: list[list[float]] = [rows.columns["tempo"].tolist() for rows in (reference, estimate)]
    kinds = np.full(len(tempi[0]), _MISSING), np.full(len(tempi[1]), _EXTRA)
    size = min(map(len, tempi))
    pairs = (
        [*zip(row, column, strict=True)]
        for row in permutations(range(len(tempi[0])), size)
        for column in permutations(range(len(tempi[1])), size)
    )
    # The pairs with the most right tempi, then with the most octaves.
    ranks = {RIGHT: 0, _HALF: 1, _DOUBLE: 1, _OTHER: 4}
    best = min(pairs, key=lambda each: sum(ranks[_classify(tempi[0][i], tempi[1][j], tolerance)] for i, j in each))
    for row, column in best:
        kind = _classify(tempi[0][row], tempi[1][column], tolerance)
        if exact and kind == RIGHT:
            pairs_of_values = (
                (reference.columns[name][row], estimate.columns[name][column]) for name in reference.columns
            )
            same = all(np.array_equal(*values, equal_nan=True) for values in pairs_of_values)
            kind = RIGHT if row == column and same else _NEAR
        kinds[0][row] = kinds[1][column] = kind
    order: list[Float] = [np.arange(len(side), dtype=np.float64) for side in tempi]
    return Edits(reference, estimate, kinds[0], kinds[1], order=(order[0], order[1]))


TASK = Task(
    "tempo",
    "Tempo estimation",
    by_name(MIR_EVAL, madmom.CONVENTION),
    ("p_score",),
    errors=ErrorBudget(_KINDS, find_errors),
    doubts=(
        Doubt(
            "tempo_unit",
            f"a tempo is below {_SLOWEST:.0f} or above {_FASTEST:.0f} beats per minute: a period, a frequency in Hz, "
            "or a confidence next to a tempo",
            of_side=doubt_unit,
            suspects=suspect_unit,
        ),
    ),
)

globals().update(_scores.functions("One tempo, or two with the more salient one first, in beats per minute."))
