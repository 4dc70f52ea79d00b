"""Key estimation: mir_eval's functions for one pair under its own names, and the batched conventions in `TASK`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..errors import AnnotationError
from ..ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..theory.keys import (
    FIFTH_DOWN,
    FIFTH_UP,
    OTHER,
    PARALLEL,
    RELATIONS,
    RELATIVE,
    SAME,
    UNNAMED,
    Key,
    parse_key,
    relation_table,
)
from .base import Cleaned, Convention, Grid, Measure, Metric, Parameter, Scores, Task, refuse_grid, refuse_unknown
from .cleaning import set_aside, usable

__all__ = [
    "KEY_TO_SEMITONE",
    "TASK",
    "evaluate",
    "split_key_string",
    "validate",
    "validate_key",
    "weighted_score",
]


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of global keys.

    Parameters
    ----------
    references, estimates : Ragged
        Column label, at most one a row; rows as :func:`mirflow.metrics.key.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        A key of a whole track has no time, so there is nothing to choose.

    Returns
    -------
    Scores
        Every weight is 1, for the track; 0 without a reference. No estimate is an error of class other.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equation 3.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> rows = Ragged({"label": np.array([0, 1])}, (np.array([1, 1]),), ("C major", "G:major"))
    >>> wanted = get_task("key").convention().select(["weighted_score", "fifth"])
    >>> score(rows, rows, np.array([0]), np.array([1]), wanted).score.tolist()
    [[0.5, 1.0]]
    """
    refuse_grid(grid, "keys")
    known = references.counts[0][reference_row] > 0
    relation = _relations(references, estimates, reference_row, estimate_row, known)
    scores = np.zeros((len(reference_row), len(measures)))
    for column, measure in enumerate(measures):
        scores[known, column] = READINGS[measure.metric.name](relation, measure)[known]
    weights = np.repeat(known[:, np.newaxis].astype(np.float64), len(measures), axis=1)
    return Scores(scores, weights)


def _relations(references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, known: Bool) -> Int:
    """The relation of each pair; that of a pair without an estimate is other: int64 (pairs,)."""
    relation = np.full(len(reference_row), OTHER, dtype=np.int64)
    both = known & (estimates.counts[0][estimate_row] > 0)
    relation[both] = relation_table()[_keys(references, reference_row[both]), _keys(estimates, estimate_row[both])]
    return relation


def _keys(rows: Ragged, row: Int) -> Int:
    """Codes of the keys of some rows that are not empty."""
    of_label = np.array([(parse_key(label) or UNNAMED).code for label in rows.labels], dtype=np.int64)
    codes: Int = of_label[rows.columns["label"][rows.offsets[row]]]
    return codes


def weigh(relation: Int, *, descending: bool, fifth: float, relative: float, parallel: float) -> Float:
    """The points of relations: 1 for the same key, the given ones for near ones.

    Examples
    --------
    >>> weigh(np.array([SAME, FIFTH_DOWN]), descending=True, fifth=0.5, relative=0.3, parallel=0.2).tolist()
    [1.0, 0.5]
    """
    points = np.zeros(OTHER + 1)
    points[[SAME, FIFTH_UP, RELATIVE, PARALLEL]] = 1.0, fifth, relative, parallel
    points[FIFTH_DOWN] = fifth if descending else 0.0
    return np.asarray(points[relation])


def _weighted(relation: Int, measure: Measure) -> Float:
    return weigh(
        relation,
        descending=bool(measure["allow_descending_fifths"]),
        fifth=float(measure["fifth"]),
        relative=float(measure["relative"]),
        parallel=float(measure["parallel"]),
    )


def _is(code: int) -> Callable[[Int, Measure], Float]:
    return lambda relation, measure: (relation == code).astype(np.float64)


def _fifth(relation: Int, measure: Measure) -> Float:
    near = [FIFTH_UP, FIFTH_DOWN] if measure["allow_descending_fifths"] else [FIFTH_UP]
    return np.isin(relation, near).astype(np.float64)


def _other(relation: Int, measure: Measure) -> Float:
    far = [OTHER] if measure["allow_descending_fifths"] else [OTHER, FIFTH_DOWN]
    return np.isin(relation, far).astype(np.float64)


READINGS: dict[str, Callable[[Int, Measure], Float]] = {
    "weighted_score": _weighted,
    "same": _is(SAME),
    "fifth": _fifth,
    "relative": _is(RELATIVE),
    "parallel": _is(PARALLEL),
    "other": _other,
}
"""How each measure is read off the relations."""

_TONICS = "c c# db d d# eb e f f# gb g g# ab a a# bb b"
KEY_TO_SEMITONE: dict[str, int | None] = {
    **{name: key.tonic for name in _TONICS.split() if (key := parse_key(name)) is not None},
    "x": None,
}
"""The tonics of mir_eval's syntax in lower case, as semitones above C; ``x`` is a key that cannot be named."""
_MODES = ("major", "minor", "other")

POINTS = MappingProxyType({"fifth": 0.5, "relative": 0.3, "parallel": 0.2})
"""What MIREX gives for a key that is nearly right."""


def validate_key(key: str) -> None:
    """Check a key in mir_eval's syntax.

    Parameters
    ----------
    key : str
        A tonic of `KEY_TO_SEMITONE` in any case, a blank, and ``major``, ``minor`` or ``other``; or ``X``.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> validate_key("Bb minor")
    """
    parts = key.split()
    if len(parts) != 2 and key.lower() != "x":
        raise ValueError(f"'{key}' is not in the form '(key) (mode)' or 'X'")
    if len(parts) != 2:
        return
    tonic, mode = parts
    if tonic.lower() == "x":
        raise ValueError(f"Mode {mode} is invalid; 'X' (Uncategorized) doesn't have mode")
    if tonic.lower() not in KEY_TO_SEMITONE:
        raise ValueError(f"Key {tonic} is invalid; should be e.g. D or C# or Eb or X (Uncategorized)")
    if mode not in _MODES:
        raise ValueError(f"Mode '{mode}' is invalid; must be 'major', 'minor' or 'other'")


def validate(reference_key: str, estimated_key: str) -> None:
    """Check both keys of a pair.

    Raises
    ------
    ValueError
        For a key that `validate_key` refuses.
    """
    for key in (reference_key, estimated_key):
        validate_key(key)


def split_key_string(key: str) -> tuple[int | None, str | None]:
    """The tonic and the mode of a key.

    Parameters
    ----------
    key : str
        In mir_eval's syntax.

    Returns
    -------
    tonic : int or None
        Semitones above C; None for ``X``.
    mode : str or None

    Examples
    --------
    >>> split_key_string("Eb major")
    (3, 'major')
    """
    if key.lower() == "x":
        return None, None
    tonic, mode = key.split()
    return KEY_TO_SEMITONE[tonic.lower()], mode


def weighted_score(reference_key: str, estimated_key: str, allow_descending_fifths: bool = False) -> float:
    """Points for how near an estimated key is.

    Parameters
    ----------
    reference_key, estimated_key : str
        In mir_eval's syntax.
    allow_descending_fifths : bool
        Whether a key a fifth below the reference counts like one a fifth above, as in MIREX since 2017.

    Returns
    -------
    float
        1 for the same key, 0.5 for a fifth, 0.3 for the relative key, 0.2 for the parallel key, 0 for any other.

    Raises
    ------
    ValueError
        For a key that `validate_key` refuses.

    Examples
    --------
    >>> weighted_score("C major", "F major"), weighted_score("C major", "F major", allow_descending_fifths=True)
    (0.0, 0.5)
    """
    validate(reference_key, estimated_key)
    relation = relation_table()[_named(reference_key).code, _named(estimated_key).code]
    return float(weigh(relation, descending=allow_descending_fifths, **POINTS))


def _named(label: str) -> Key:
    key = parse_key(label)
    assert key is not None  # mir_eval's syntax is part of ours
    return key


def evaluate(
    reference_key: str, estimated_key: str, allow_descending_fifths: bool = False, **kwargs: Any
) -> OrderedDict[str, float]:
    """The weighted score of one estimate.

    Parameters
    ----------
    reference_key, estimated_key, allow_descending_fifths
        See `weighted_score`.
    **kwargs
        There are none; they are only named to say so.

    Returns
    -------
    OrderedDict of str to float

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `weighted_score`.

    Examples
    --------
    >>> evaluate("C major", "A minor")["Weighted Score"]
    0.3
    """
    refuse_unknown("evaluate", kwargs, ("reference_key", "estimated_key", "allow_descending_fifths"))
    return OrderedDict({"Weighted Score": weighted_score(reference_key, estimated_key, allow_descending_fifths)})


def clean(rows: Ragged) -> Cleaned:
    """Keep one key a row.

    A row that repeats its key, in whatever spelling, is cut to the first label; the others are counted as repairs.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column label.

    Returns
    -------
    Cleaned
        Flaws are labels that name no key, and a second key: what is compared is the key of a whole track.

    Examples
    --------
    >>> cleaned = clean(Ragged({"label": np.array([0, 1, 2, 0, 3])}, (np.array([2, 1, 2]),),
    ...                        ("C# minor", "Db:minor", "H major", "A major")))
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist()
    ([1, 0, 0], [1, 0, 0])
    >>> [flaw.message for flaw in cleaned.flaws.values()]
    ["not a key: 'H major'", "a track has one key, and this is another one: 'A major'"]
    """
    label = rows.columns["label"]
    keys = [parse_key(text) for text in rows.labels]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    of_label = np.array([*(-1 if key is None else numbers[key] for key in keys), -1], dtype=np.int64)
    key = of_label[label]  # the last one serves items without a label
    owner = rows_of(rows.counts[0])
    first = rows.offsets[:-1][owner]
    texts = [*rows.labels, ""]
    problems = [
        (key < 0, lambda item: f"not a key: {texts[label[item]]!r}"),
        (key != key[first], lambda item: f"a track has one key, and this is another one: {texts[label[item]]!r}"),
    ]
    repeated = np.arange(len(label)) != first
    cleaned = set_aside(rows, problems, repeated)
    if not repeated.any():
        return cleaned
    leading = np.zeros(len(cleaned.rows.columns["label"]), dtype=np.bool_)
    leading[cleaned.rows.offsets[:-1][cleaned.rows.counts[0] > 0]] = True
    return Cleaned(cleaned.rows.keep(leading), cleaned.repairs, cleaned.flaws)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The two keys and their relation.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind key.
    measure : Measure
        Any; all of them are read off the same relation.

    Returns
    -------
    dict of str to array (1,)
        ``reference``, ``estimate`` (labels) and ``relation``: ``same``, ``fifth_up``, ``fifth_down``, ``relative``,
        ``parallel`` or ``other``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or is empty.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("key").convention().select(["weighted_score"])[0]
    >>> found = evidence(Annotation("key", {}, ["C major"]), Annotation("key", {}, ["F major"]), measure)
    >>> found["relation"].tolist()
    ['fifth_down']
    """
    labels, codes = [], []
    for annotation, side in ((reference, "reference"), (estimate, "estimate")):
        rows = usable(annotation, clean(to_ragged([annotation])), side)
        if not len(rows.columns["label"]):
            raise AnnotationError(f"the {side} is empty, so there is nothing to explain")
        labels.append(rows.labels[int(rows.columns["label"][0])])
        codes.append((parse_key(labels[-1]) or UNNAMED).code)
    relation = RELATIONS[relation_table()[codes[0], codes[1]]]
    return {
        "reference": np.array(labels[:1], dtype=str),
        "estimate": np.array(labels[1:], dtype=str),
        "relation": np.array([relation], dtype=str),
    }


_DOWNIE = (
    "equation 3 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010; "
    "Raffel et al., mir_eval, ISMIR 2014"
)
_TRACKS = "number of tracks with a key"
_NEAR = {
    "fifth": ("Fifth", "1 if the estimate lies a perfect fifth from the reference, in the same mode"),
    "relative": ("Relative", "1 if the estimate is the relative major or minor of the reference"),
    "parallel": ("Parallel", "1 if the estimate has the tonic of the reference in another mode"),
    "other": ("Other", "1 if the estimate is wrong and not near"),
}


def _descending(allowed: bool) -> Parameter:
    return Parameter("allow_descending_fifths", allowed, help="whether a fifth below the reference is a fifth, too")


def _metrics(descending: bool, *, shares: bool) -> tuple[Metric, ...]:
    """The metrics of a convention; the shares of the classes are computed unasked where `shares` says so."""
    points = tuple(Parameter(name, value, least=0.0, help=f"points for class {name}") for name, value in POINTS.items())
    weighted = Metric(
        "weighted_score",
        "Weighted score",
        "1 point for the right key, fewer for one that is nearly right",
        _TRACKS,
        "tracks",
        key="Weighted Score",
        aliases=("hierarchical_accuracy", "WeightedKeyScore"),
        pooling="micro",
        parameters=(_descending(descending), *points),
        literature=_DOWNIE,
    )
    return (weighted, _same(shares), *(_near(name, descending, default=shares) for name in _NEAR))


def _same(default: bool) -> Metric:
    return Metric(
        "same",
        "Same key",
        "1 if the estimate is the key of the reference, in whatever spelling",
        _TRACKS,
        "tracks",
        aliases=("correct", "accuracy"),
        pooling="micro",
        default=default,
        literature=_DOWNIE,
    )


def _near(name: str, descending: bool, *, default: bool) -> Metric:
    title, summary = _NEAR[name]
    return Metric(
        name,
        title,
        summary,
        _TRACKS,
        "tracks",
        orientation="lower" if name == "other" else "none",
        pooling="micro",
        perfect=0.0,
        parameters=(_descending(descending),) if name in ("fifth", "other") else (),
        default=default,
        literature=_DOWNIE,
    )


def _convention(name: str, summary: str, descending: bool, *, shares: bool) -> Convention:
    return Convention(name, summary, _metrics(descending, shares=shares), clean, score, explain=evidence)


_CONVENTIONS = (
    _convention("mir_eval", "mir_eval 0.8.2: of the fifths only the ascending one is near", False, shares=False),
    _convention("mirex2005", "MIREX until 2016: as mir_eval, with the shares of all classes", False, shares=True),
    _convention("mirex2017", "MIREX since 2017: fifths in both directions are near", True, shares=True),
)

TASK = Task("key", "Key estimation", MappingProxyType({one.name: one for one in _CONVENTIONS}), ("weighted_score",))
