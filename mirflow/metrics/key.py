"""Key estimation: reference and estimate are one key for a whole track.

The functions are those of ``mir_eval.key``, with the same arguments, results, errors and restricted syntax of labels;
`TASK` holds the metrics of whole datasets, with kinds of errors and a warning of lower-case letters without a mode.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2: only the fifth above earns points.
* ``mirex2005``: MIREX until 2016: the same score, with the share of each class of errors.
* ``mirex2017``: MIREX since 2017: fifths in both directions earn points.
* ``madmom``: evaluation of madmom: the same; its option ``strict_fifth`` is ``allow_descending_fifths=false``.

Metrics
-------
* ``weighted_score`` (`weighted_score`): 1 for the same key, 0.5 for a fifth, 0.3 for the relative and 0.2 for the
  parallel key.
* ``same``, ``fifth``, ``relative``, ``parallel``, ``other``, on request under ``mir_eval``: shares of the relations.
* ``relative_of_fifth``, on request: share of relatives of keys a fifth from the reference, which ``other`` includes.

References
----------
Downie et al., The Music Information Retrieval Evaluation eXchange, 2010, equation 3; MIREX audio key detection, 2005
and 2017.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import refuse_unknown
from ..ragged import Bool, Column, Float, Int, Ragged
from ..theory.keys import (
    FIFTH_DOWN,
    FIFTH_UP,
    OTHER,
    PARALLEL,
    RELATIONS,
    RELATIVE,
    RELATIVE_OF_FIFTH_DOWN,
    RELATIVE_OF_FIFTH_UP,
    SAME,
    key_codes,
    not_a_key,
    parse_key,
    relation_table,
)
from .base import Convention, Doubt, Pairs, Task, by_name, score_by
from .cleaning import Cleaned, keep_first, usable_pair
from .edits import RIGHT, Edits, ErrorBudget, ErrorKind
from .measures import Measure, Parameter, Weight, family, metric, metrics_in
from .pair import PairFunctions, documented

__all__ = ["KEY_TO_SEMITONE", "TASK", "evaluate", "split_key_string", "validate", "validate_key", "weighted_score"]


@dataclass(frozen=True, slots=True)
class KeyPairs:
    """Relations of the keys of both sides of pairs."""

    relation: Int  # int64 (pairs,): index in :data:`mirflow.theory.keys.RELATIONS`; other without an estimate
    known: Bool  # Whether the pair has a reference: bool (pairs,)

    @classmethod
    def of(cls, pairs: Pairs) -> KeyPairs:
        """Compare clean rows: pairs with a reference weigh 1; a missing estimate is an error (other)."""
        known, estimated = (counts > 0 for counts in pairs.counts)
        relation = np.full(len(pairs), OTHER, dtype=np.int64)
        both = known & estimated
        items = ((rows, rows.columns["label"][rows.offsets[row[both]]]) for rows, row in pairs.sides)
        relation[both] = relation_table()[tuple(key_codes(rows.labels)[label] for rows, label in items)]
        return cls(relation, known)

    def weigh(self, points: Mapping[int, float]) -> tuple[Float, Bool]:
        """Points of each pair for its relation, and the pairs that count."""
        of_relation = np.array([points.get(relation, 0.0) for relation in range(len(RELATIONS))])
        return np.where(self.known, of_relation[self.relation], 0.0), self.known


_BELOW, _FLAG = "whether a fifth below the reference counts as a fifth", "allow_descending_fifths"
_DESCENDING = Parameter(_FLAG, False, help=_BELOW, mir_eval=_FLAG)
_TRACKS = Weight("number of tracks with a key", "tracks")
_COMMON: Mapping[str, Any] = {"pooling": "micro", "literature": "equation 3 of @downie2010; @raffel2014"}


@metric(
    "Weighted score",
    _TRACKS,
    key="Weighted Score",
    aliases=("hierarchical_accuracy", "WeightedKeyScore"),
    parameters=(
        _DESCENDING,
        *(
            Parameter(name, default, least=0.0, help=f"points for class {name}")
            for name, default in (("fifth", 0.5), ("relative", 0.3), ("parallel", 0.2))
        ),
    ),
    **_COMMON,
)
def _weighted_score(keys: KeyPairs, measure: Measure) -> tuple[Float, Bool]:
    """1 point for the right key, fewer for a related one."""
    descending, fifth, relative, parallel = map(float, measure.values)
    down = fifth if descending else 0.0
    return keys.weigh({SAME: 1.0, FIFTH_UP: fifth, FIFTH_DOWN: down, RELATIVE: relative, PARALLEL: parallel})


_FIFTHS = {"parameters": (_DESCENDING,)}
CLASSES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        name: {"title": title, "summary": summary, "orientation": "none", "perfect": 0.0, **about}
        for name, title, summary, about in (
            (
                "same",
                "Same key",
                "the estimate is the key of the reference, in any spelling",
                {"aliases": ("correct", "accuracy"), "orientation": "higher", "perfect": 1.0},
            ),
            ("fifth", "Fifth", "the estimate is a perfect fifth from the reference, in the same mode", _FIFTHS),
            ("relative", "Relative", "the estimate is the relative major or minor of the reference", {}),
            ("parallel", "Parallel", "the estimate has the tonic of the reference in another mode", {}),
            (
                "other",
                "Other",
                "the estimate is missing, or wrong and not related",
                {"orientation": "lower", **_FIFTHS},
            ),
            (
                "relative_of_fifth",
                "Relative of the fifth",
                "the estimate is the relative of the key a perfect fifth from the reference; `other` {} it",
                {"literature": "a class of madmom's evaluation of keys", **_FIFTHS},
            ),
        )
    }
)
"""Fields of the metrics of classes of estimated keys; summaries say which keys are of a class, in metrics of which
`other` ``includes`` or ``excludes`` the relative of the fifth."""


def weigh_class(other: Sequence[int], name: str, keys: Any, measure: Measure) -> Any:
    """Share of the keys that have a relation of a class.

    `other`: relations of the class of that name, whether or not descending fifths count as fifths.
    """
    down = bool(measure.parameters.get("allow_descending_fifths"))
    relations = {
        "same": (SAME,),
        "fifth": (FIFTH_UP, FIFTH_DOWN) if down else (FIFTH_UP,),
        "relative": (RELATIVE,),
        "parallel": (PARALLEL,),
        "other": other if down else (*other, FIFTH_DOWN, RELATIVE_OF_FIFTH_DOWN),
        "relative_of_fifth": (RELATIVE_OF_FIFTH_UP, RELATIVE_OF_FIFTH_DOWN) if down else (RELATIVE_OF_FIFTH_UP,),
    }
    return keys.weigh(dict.fromkeys(relations[name], 1.0))


_classes = family(
    _TRACKS,
    {
        name: {**_COMMON, **about, "summary": f"1 if {about['summary'].format('includes')}"}
        for name, about in CLASSES.items()
    },
    default=False,
)(partial(weigh_class, (OTHER, RELATIVE_OF_FIFTH_UP, RELATIVE_OF_FIFTH_DOWN)))
METRICS = metrics_in(globals())
_score = partial(score_by, KeyPairs.of)

_TONICS = "c c# db d d# eb e f f# gb g g# ab a a# bb b"
KEY_TO_SEMITONE: dict[str, int | None] = {
    **{name: key.tonic for name in _TONICS.split() if (key := parse_key(name)) is not None},
    "x": None,
}
"""The tonics of mir_eval's syntax in lower case, as semitones above C; ``x`` is a key that cannot be named."""
_MODES = ("major", "minor", "other")


@dataclass(frozen=True, slots=True)
class KeyPair:
    """One pair, for metrics that read `KeyPairs`; numbers are faster than arrays of one."""

    relation: int

    def weigh(self, points: Mapping[int, float]) -> tuple[float, bool]:
        """Points of the pair for its relation."""
        return points.get(self.relation, 0.0), True


def score_pair(reference: str, estimate: str, measures: Sequence[Measure]) -> list[float]:
    """Score one pair of keys."""
    pair = KeyPair(int(relation_table()[tuple(key_codes([reference, estimate]))]))
    return [measure.read(pair)[0] for measure in measures]


_documented = documented(
    """
    Parameters
    ----------
    reference_key, estimated_key : str
        In mir_eval's syntax.
    **kwargs
        Not used; other keyword arguments are refused.

    Raises
    ------
    ValueError
        For a key refused by `validate_key`.
    """,
    METRICS,
)


def validate_key(key: str) -> None:
    """Check a key in mir_eval's syntax.

    Parameters
    ----------
    key : str
        A tonic of `KEY_TO_SEMITONE` in any case, a space, and ``major``, ``minor`` or ``other``; or ``X``.

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


@_documented
def validate(reference_key: str, estimated_key: str) -> None:
    """Check both keys of a pair."""
    validate_key(reference_key)
    validate_key(estimated_key)


def split_key_string(key: str) -> tuple[int | None, str | None]:
    """Split a key into tonic and mode.

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


_scores = PairFunctions(METRICS, score_pair, lambda reference, estimate, measures: validate(reference, estimate))


@_documented
def weighted_score(reference_key: str, estimated_key: str, allow_descending_fifths: bool = False) -> float:
    """Points for the relation of an estimated key to the reference.

    Returns
    -------
    float
        1 for the same key, 0.5 for a fifth, 0.3 for the relative key, 0.2 for the parallel key, 0 for any other.

    Examples
    --------
    >>> weighted_score("C major", "F major"), weighted_score("C major", "F major", allow_descending_fifths=True)
    (0.0, 0.5)
    """
    values = {"allow_descending_fifths": allow_descending_fifths}
    return _scores("weighted_score", reference_key, estimated_key, **values)[0]


@_documented
def evaluate(
    reference_key: str, estimated_key: str, allow_descending_fifths: bool = False, **kwargs: Any
) -> OrderedDict[str, float]:
    """Compute the weighted score of one estimate.

    Examples
    --------
    >>> evaluate("C major", "A minor")["Weighted Score"]
    0.3
    """
    if kwargs:
        refuse_unknown("evaluate", kwargs, ("reference_key", "estimated_key", "allow_descending_fifths"))
    return OrderedDict({"Weighted Score": weighted_score(reference_key, estimated_key, allow_descending_fifths)})


def clean(rows: Ragged) -> Cleaned:
    """Keep one key per row.

    Repetitions of the key, in any spelling, are dropped and counted as repairs. Flaws are labels that are not keys, and
    a second key, because the key of the whole track is compared.
    """
    label, texts = rows.columns["label"], [*rows.labels, ""]  # the last one is for items without a label
    keys = [parse_key(text) for text in rows.labels]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    key = np.array([*(-1 if key is None else numbers[key] for key in keys), -1], dtype=np.int64)[label]
    first = np.repeat(rows.offsets[:-1], rows.counts[0])
    return keep_first(
        rows,
        [
            (key < 0, lambda item: not_a_key(texts[label[item]])),
            (key != key[first], lambda item: f"a track has one key, and this is another one: {texts[label[item]]!r}"),
        ],
    )


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return both keys (``reference``, ``estimate``) and their ``relation``, one of `RELATIONS`, for any measure."""
    sides = usable_pair(reference, estimate, clean, filled=2)
    labels = [rows.labels[int(rows.columns["label"][0])] for rows in sides]
    relation = RELATIONS[relation_table()[tuple(key_codes(labels))]]
    columns = {"reference": labels[0], "estimate": labels[1], "relation": relation}
    return {name: np.array([text], dtype=str) for name, text in columns.items()}


_SHARES = tuple(replace(record, default=record.name != "relative_of_fifth") for record in METRICS)
_IN_BOTH_DIRECTIONS = tuple(record.with_defaults(allow_descending_fifths=True) for record in _SHARES)
_CONVENTIONS = tuple(
    Convention(name, summary, metrics, clean, _score, explain=evidence, literature=literature)
    for name, summary, metrics, literature in (
        ("mir_eval", "mir_eval 0.8.2: only the ascending fifth earns points", METRICS, "@raffel2014"),
        ("mirex2005", "MIREX until 2016: as mir_eval, with the shares of all classes", _SHARES, "@downie2010"),
        ("mirex2017", "MIREX since 2017: fifths in both directions earn points", _IN_BOTH_DIRECTIONS, "@downie2010"),
        (
            "madmom",
            "madmom's evaluation: fifths in both directions earn points, as in MIREX since 2017",
            _IN_BOTH_DIRECTIONS,
            "@bock2016madmom",
        ),
    )
)


def doubt_case(annotation: Annotation) -> str:
    """Report a lower-case letter without a mode, which means minor in classical notation."""
    tonics = [label.strip() for label in annotation.labels or () if _LOWER_CASE.fullmatch(label.strip())]
    if not tonics:
        return ""
    name = tonics[0][0].upper() + tonics[0][1:]
    read = f"{tonics[0]!r} is read as {name} major, but lower-case letters often mean minor"
    return f"{read}: write '{name} minor' or '{name} major'"


_LOWER_CASE = re.compile(r"[a-g](?:#*|b*)")
LOWER_CASE = Doubt(
    "key_case", "a key is a lower-case letter without a mode, such as `a`, which is read as A major", of_side=doubt_case
)

ERRORS = (
    ErrorKind("fifth", "the key a fifth above or below, in the same mode"),
    ErrorKind("relative", "the relative major or minor key"),
    ErrorKind("parallel", "the key of the same tonic in another mode"),
    ErrorKind("other", "any other key, or none"),
)


def codes_of(rows: Ragged) -> Int:
    """The key of each item of a row, and that of no item."""
    return np.asarray(key_codes((*rows.labels, "X"))[np.append(rows.columns["label"], -1)])


def errors_of(reference: Int, estimate: Int) -> Int:
    """Kinds of errors, as indices into `ERRORS`, by the relation of keys."""
    fifth, relative, parallel, other = range(len(ERRORS))
    of_relation = np.full(len(RELATIONS), other, dtype=np.int64)
    of_relation[[SAME, FIFTH_UP, FIFTH_DOWN, RELATIVE, PARALLEL]] = RIGHT, fifth, fifth, relative, parallel
    return np.asarray(of_relation[relation_table()[reference, estimate]])


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the edit of the key of a track; a key that is missing is another one."""
    codes = codes_of(reference), codes_of(estimate)
    both = len(codes[0]) > 1 and len(codes[1]) > 1
    kind = errors_of(codes[0][:1], codes[1][:1]) if both else np.array([len(ERRORS) - 1])
    kinds = [np.resize(kind, len(side) - 1) for side in codes]
    return Edits(reference, estimate, kinds[0], kinds[1], order=(np.zeros(len(kinds[0])), np.zeros(len(kinds[1]))))


TASK = Task(
    "key",
    "Key estimation",
    by_name(*_CONVENTIONS),
    ("weighted_score",),
    doubts=(LOWER_CASE,),
    errors=ErrorBudget(ERRORS, find_errors),
)

globals().update(_scores.functions("Keys in mir_eval's syntax."))
