"""The difference of two sets of scores, cell by cell: stores, their groups, and published tables.

Systems, tracks and metrics are matched by name. The result is a dataset for each pair of evaluations. Differences of
settings, versions and input files are listed, too, and the metrics whose scores differ by more than a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..kernels.ratios import divide
from ..metrics.measures import SIGN_OF
from ..ragged import Float
from ..remote import as_given, parse_address
from ..store.format import IMPORTED, PRINTED_STEP
from ..store.read import read_scores
from .lookup import bare_name, find_labels, find_metrics, find_single
from .query_options import Names
from .scores import as_scores, cell_texts, computed, coords_of, names_of, numbers_of, states_of
from .selection import has_score

if TYPE_CHECKING:
    import xarray as xr


__all__ = ["Comparable", "ComparedScores", "compare_sides", "differences", "exceeding", "sides_of"]

Comparable: TypeAlias = "str | Path | xr.Dataset | xr.DataTree"

MAPPING_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class ComparedScores:
    """One of two evaluations that are compared."""

    label: str
    """What messages and tables call it."""
    group: str
    """Name of the evaluation; empty for a dataset."""
    ds: xr.Dataset
    printed_step: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """True if the scores come from a table, which hardly describes how they were computed."""
        return IMPORTED in self.ds.attrs


def sides_of(given: Comparable, root: str | Path | None = None) -> dict[str, ComparedScores]:
    """Every evaluation of a store, tree or mapping file, or the only one of a dataset, by name.

    `given`: a path may name a group behind a colon: ``stores/x.zarr:chord``. `root`: folder in which the patterns of a
    mapping file start, instead of the one that it names.
    """
    wanted = None
    if not isinstance(given, str | Path):
        import xarray as xr

        label, boards = "dataset", {"": given} if isinstance(given, xr.Dataset) else {}
        if not isinstance(given, xr.Dataset):
            nodes = {node.path.strip("/"): node for node in given.subtree if "score" in node.data_vars}
            label, boards = str(given.name or "tree"), {name: node.to_dataset() for name, node in nodes.items()}
        boards = {name: as_scores(ds) for name, ds in boards.items()}
    else:
        # The group stands behind the last colon, unless there is a file of the whole name.
        text = str(given)
        before, _, behind = text.rpartition(":")
        whole = Path(text).exists() or (parse_address(text) is not None and before == "icechunk")
        wanted = None if whole or not before or not behind.isidentifier() else behind
        path = Path(text if wanted is None else before)
        if path.suffix.lower() in MAPPING_SUFFIXES:
            from ..published.score_tables import read_published
            from ..store.read import dataset_of

            published = read_published(path, root=root)
            label, boards = str(path), {content.name: as_scores(dataset_of(content)) for content in published.groups}
        else:
            label, boards = as_given(path), read_scores(path)
    if wanted is not None:
        if wanted not in boards:
            raise UnknownNameError(f"group of {label}", wanted, boards)
        boards = {wanted: boards[wanted]}
    if not boards:
        raise QueryError(f"{label}: has no scores")
    sides = {}
    for name, ds in boards.items():
        steps = ds.attrs.get(PRINTED_STEP, {})
        printed = {str(one): float(step) for one, step in steps.items()} if isinstance(steps, Mapping) else {}
        sides[name] = ComparedScores(f"{label}:{name}" if name else label, name, ds, printed)
    return sides


# Times, texts that say the same as other attributes, and what differs from machine to machine without meaning anything.
_SKIPPED = frozenset({"created", "coordinates", "signatures", "parameters", "root", "mapping", IMPORTED, PRINTED_STEP})


MetricPairs = Sequence[tuple[str, str]]
"""Metrics of a, each with that of b that it is compared with."""


def of_metrics(a: ComparedScores, b: ComparedScores, pairs: MetricPairs) -> list[tuple[str, str, str]]:
    """Differences of the versions and parameters of metrics of a and b, and of the units of those paired by hand."""
    described = []
    for index, side in enumerate((a, b)):
        place = {name: at for at, name in enumerate(names_of(side.ds, "metric"))}
        version = coords_of(side.ds, "metric").get("version")
        parameters = side.ds.attrs.get("parameters", {})
        settings: dict[str, str] = {}
        for pair in pairs:
            metric, label = pair[index], label_of(pair)
            if version is not None:
                settings[f"version of {label}"] = _text(version[place[metric]])
            if pair[0] != pair[1]:
                settings[f"unit of {label}"] = names_of(side.ds, "unit")[place[metric]] or "none"
            for name, value in (parameters.get(metric, {}) if isinstance(parameters, Mapping) else {}).items():
                settings[f"{name} of {label}"] = _text(value)
        described.append(settings)
    return _differing(a, b, *described)


def label_of(pair: tuple[str, str]) -> str:
    """Common name of a metric of a and the one of b that it is compared with.

    Examples
    --------
    >>> label_of(("f_measure", "f_measure")), label_of(("f_measure", "f_measure@0.05"))
    ('f_measure', 'f_measure=f_measure@0.05')
    """
    return pair[0] if pair[0] == pair[1] else "=".join(pair)


def _differing(
    a: ComparedScores, b: ComparedScores, left: Mapping[str, str], right: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """What differs, by name, as a and as b say it; a side that does not have it says nothing.

    A table says little of itself: beside one, only what both sides say can differ.
    """
    tables = a.is_table or b.is_table
    names = [name for name in dict.fromkeys([*left, *right]) if not tables or (name in left and name in right)]
    differing = []
    for name, of_a, of_b in ((name, left.get(name, ""), right.get(name, "")) for name in names):
        if of_a != of_b and "\n" in of_a + of_b:  # long texts, such as pipelines, by their first line that differs
            lines = list(zip_longest(of_a.splitlines(), of_b.splitlines()))
            row = next((row for row, (line, other) in enumerate(lines) if line != other), len(lines))
            mine, others = (line or "" for line in (*lines, ("", ""))[row])
            differing.append((f"{name}, line {row + 1}", mine.strip(), others.strip()))
        elif of_a != of_b:
            differing.append((name, of_a, of_b))
    return differing


def _text(value: Any) -> str:
    """A value as text; a list by lines, of which the first that differs is shown."""
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def differing_inputs(
    a: ComparedScores, b: ComparedScores, systems: Sequence[str], tracks: Sequence[str]
) -> dict[str, int]:
    """Numbers of cells that both sides scored from known files, and of those with other bytes of reference or estimate.

    Empty where a side does not say from which files.
    """
    if a.is_table or b.is_table:
        return {}
    digests = []
    for ds in (a.ds, b.ds):
        whole = np.broadcast_to(cell_texts(ds, "digest"), (ds.sizes["system"], ds.sizes["track"]))
        indices = [{name: index for index, name in enumerate(names_of(ds, dim))} for dim in ("system", "track")]
        chosen = ([index[name] for name in names] for index, names in zip(indices, (systems, tracks), strict=True))
        digests.append(list(map(str, whole[np.ix_(*chosen)].ravel().tolist())))
    cells = zip(*digests, strict=True)
    known = [(mine.partition(":"), other.partition(":")) for mine, other in cells if mine and other]
    differ = (sum(one[index] != two[index] for one, two in known) for index in (0, 2))
    return dict(zip(("reference", "estimate", "cells"), (*differ, len(known)), strict=True)) if known else {}


LEAST_TOLERANCE = 1e-9
"""What two scores may differ by and still agree where no digits were printed: the rounding of another order of sums."""
_SIDES = ("a", "b")
Pairs = Mapping[str, str] | None


def exceeding(ds: xr.Dataset, most: float | None = None, *, worse: bool = False) -> list[str]:
    """The metrics that do not hold to a largest difference: too far apart, a score on one side only, or no scores.

    `most`: in the unit of each metric; None: its tolerance. `worse`: only where b is worse than a, or has no score
    where a has one. Metrics of which neither high nor low values are better are never worse.
    """
    missing, largest = ds["missing_b"].values, ds["max_difference"].values
    orientations = ds["orientation"].values.tolist()
    if worse:
        signs = np.array([float(SIGN_OF.get(orientation, 0)) for orientation in orientations])
        with np.errstate(invalid="ignore"):  # infinite changes of metrics without an orientation
            loss = ds["difference"].values * signs
        both = ~np.isnan(ds["a"].values) & ~np.isnan(ds["b"].values) & ~np.isnan(loss)
        whole = np.where(both, loss, 0.0).max(axis=(0, 1), initial=0.0)
        largest = np.where(ds["n"].values > 0, whole, np.nan)
    else:
        missing = ds["missing_a"].values + missing
    limit = ds["tolerance"].values if most is None else most
    # Written so that NaN counts as too large.
    far = ~(largest <= limit) | (missing > 0)
    names = zip(names_of(ds, "metric"), far.tolist(), orientations, strict=True)
    return [name for name, one, way in names if one and not (worse and way == "none")]


def compare_sides(
    a: ComparedScores,
    b: ComparedScores,
    metric: Names = None,
    system: Names = None,
    tracks: Names = None,
    tolerance: float | None = None,
    pair: Pairs = None,
) -> xr.Dataset:
    """Two evaluations side by side; systems and tracks are matched by name, metrics by name and parameters.

    `metric`, `system`, `tracks`: as in a query; None: all that both have. `tolerance`: up to which scores agree; None:
    half of the last printed digit where a side is a table, at least 1e-9. `pair`: metrics of a and the one of b that
    each is compared with, whatever their names; then no others are compared unless `metric` names some.
    """
    # Names that are not there are an error before all others.
    chosen = [
        {
            "system": names_of(side.ds, "system", find_labels(side.ds, "system", system)),
            "track": names_of(side.ds, "track", find_labels(side.ds, "track", tracks)),
            "metric": names_of(side.ds, "metric", find_metrics(side.ds, metric)),
        }
        for side in (a, b)
    ]
    common: dict[str, list[str]] = {}
    only: dict[str, tuple[list[str], list[str]]] = {}
    akin: list[tuple[str, str, str]] = []
    by_hand = [
        (names_of(a.ds, "metric")[find_single(a.ds, mine)], names_of(b.ds, "metric")[find_single(b.ds, other)])
        for mine, other in (pair or {}).items()
    ]
    for dim in chosen[0]:
        mine, others = (names[dim] for names in chosen)
        common[dim] = [name for name in mine if name in set(others)]
        only[f"{dim}s"] = ([n for n in mine if n not in set(others)], [n for n in others if n not in set(mine)])
        if dim == "metric":
            akin = [] if by_hand else _akin(a, b, only["metrics"])
        if not common[dim] and not (dim == "metric" and by_hand):
            hint = ""
            if akin:
                metric_a, metric_b, apart = akin[0]
                hint = f". {metric_a} and {metric_b} differ in {apart}: to compare them all the same, pair them "
                hint += f"(--pair '{metric_a}={metric_b}')"
            few = (", ".join(names[:3]) + (", ..." if len(names) > 3 else "") for names in (mine, others))
            raise QueryError(f"{a.label} and {b.label} have no {dim} in common: {'; '.join(few)}{hint}")
    same = [] if by_hand and metric is None else [(name, name) for name in common["metric"]]
    pairs = list(dict.fromkeys([*by_hand, *same]))
    for place, own in enumerate(zip(*by_hand, strict=True)):
        only["metrics"][place][:] = [name for name in only["metrics"][place] if name not in own]
    about: dict[str, Any] = {
        f"{what}_only_in_{side}": own
        for what, pair_of in only.items()
        for side, own in zip(_SIDES, pair_of, strict=True)
    }
    about |= {f"similar_{name}": [row[index] for row in akin] for index, name in enumerate(("a", "b", "by"))}
    cells = (common["system"], common["track"])
    about |= {f"inputs_{name}": count for name, count in differing_inputs(a, b, *cells).items()}
    attrs: list[dict[str, str]] = [{}, {}]
    for texts, side in zip(attrs, (a, b), strict=True):
        for name, value in side.ds.attrs.items():
            nested = (
                {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
            )
            texts |= {} if name in _SKIPPED else {key: _text(part) for key, part in nested.items()}
    settings = [*_differing(a, b, *attrs), *of_metrics(a, b, pairs)]
    named, *texts_of = (np.array([setting[at] for setting in settings], dtype=str) for at in range(3))
    ds = _side_by_side(a, b, cells, pairs, tolerance)
    differing = {f"setting_{side}": ("setting", values) for side, values in zip(_SIDES, texts_of, strict=True)}
    return ds.assign(differing).assign_coords(setting=named).assign_attrs({"a": a.label, "b": b.label, **about})


def _side_by_side(
    a: ComparedScores,
    b: ComparedScores,
    cells: tuple[Sequence[str], Sequence[str]],
    pairs: MetricPairs,
    tolerance: float | None,
) -> xr.Dataset:
    """The scores of two evaluations by some metrics, and how they differ.

    Cells of which a published table has no row are not missing there; of a store every cell counts.
    """
    import xarray as xr

    one, other = (_scores(side, *cells, [pair[at] for pair in pairs]) for at, side in enumerate((a, b)))
    rows = []  # bool (systems, tracks)
    for side, scores in ((a, one), (b, other)):
        every = (
            _scores(side, *cells, names_of(side.ds, "metric")) if side.is_table else np.zeros((*scores.shape[:2], 1))
        )
        rows.append(~np.isnan(every).all(axis=2, keepdims=True))
    metrics = names_of(a.ds, "metric")
    units, ways = (names_of(a.ds, name, [metrics.index(mine) for mine, _ in pairs]) for name in ("unit", "orientation"))
    steps = [max(a.printed_step.get(mine, 0.0), b.printed_step.get(theirs, 0.0)) for mine, theirs in pairs]
    # A score halfway between two printed ones is a little farther from either than half a step: binary fractions.
    limits = np.array(
        [max(step / 2 * (1 + 1e-6), LEAST_TOLERANCE) if tolerance is None else tolerance for step in steps]
    )
    names = {"system": cells[0], "track": cells[1], "metric": [label_of(pair) for pair in pairs]}
    coords: dict[str, Any] = {dim: np.array(own, dtype=str) for dim, own in names.items()}
    coords |= {"unit": ("metric", np.array(units, dtype=str)), "orientation": ("metric", np.array(ways, dtype=str))}
    coords["tolerance"] = ("metric", limits)
    cell, metric = ("system", "track", "metric"), ("metric",)
    has_a, has_b = ~np.isnan(one), ~np.isnan(other)
    both = has_a & has_b
    # 0 also where both are the same infinity.
    change = np.subtract(one, other, out=np.zeros_like(one), where=one != other)
    absolute, middle = np.abs(change), (np.abs(one) + np.abs(other)) / 2
    # Towards infinity the ratio goes to 2; NaN stays NaN.
    limit = np.where(np.isinf(middle) & (absolute != 0), 2.0, np.where(np.isnan(middle), np.nan, 0.0))
    relative = divide(absolute, middle, limit, where=np.isfinite(middle) & (middle != 0))
    n, agreeing = both.sum(axis=(0, 1)), (absolute <= limits).sum(axis=(0, 1))
    means = [divide(np.where(both, sizes, 0.0).sum(axis=(0, 1)), n, np.nan) for sizes in (relative, absolute)]
    missing_a, missing_b = (mask.sum(axis=(0, 1)) for mask in (~has_a & has_b & rows[0], has_a & ~has_b & rows[1]))
    largest = np.where(n > 0, np.where(both, absolute, 0.0).max(axis=(0, 1), initial=0.0), np.nan)
    variables = {
        "a": (cell, one, {"long_name": f"score in {a.label}"}),
        "b": (cell, other, {"long_name": f"score in {b.label}"}),
        "difference": (cell, change, {"long_name": "a - b"}),
        "relative_change": (metric, means[0], {"long_name": "mean of |a - b| / ((|a| + |b|) / 2)"}),
        "mean_difference": (metric, means[1], {"long_name": "mean of |a - b|"}),
        "max_difference": (metric, largest, {"long_name": "largest |a - b|"}),
        "n": (metric, n, {"long_name": "number of cells compared"}),
        "n_agreeing": (metric, agreeing, {"long_name": "number of cells that agree to the tolerance"}),
        "missing_a": (metric, missing_a, {"long_name": "number of cells that only b has a score of"}),
        "missing_b": (metric, missing_b, {"long_name": "number of cells that only a has a score of"}),
    }
    return xr.Dataset(variables, coords)


def _akin(a: ComparedScores, b: ComparedScores, only: tuple[list[str], list[str]]) -> list[tuple[str, str, str]]:
    """Metrics of the same name but for their parameters, of which each side has one that the other has not."""
    pairs = []
    for mine in only[0]:
        for other in (name for name in only[1] if bare_name(name) == bare_name(mine)):
            changes = [
                setting
                for setting in of_metrics(a, b, [(mine, other)])
                if not setting[0].startswith(("version of ", "unit of "))
            ]
            words = (
                f"{name.partition(' of ')[0]} ({of_a or 'not given'}, {of_b or 'not given'})"
                for name, of_a, of_b in changes
            )
            pairs += [(mine, other, ", ".join(words))] if changes else []
    return pairs


def _scores(side: ComparedScores, *names: Sequence[str]) -> Float:
    """The scores of some systems, tracks and metrics; NaN where a cell was not scored."""
    ds = side.ds
    indices = ({name: index for index, name in enumerate(names_of(ds, dim))} for dim in ("system", "track", "metric"))
    systems, tracks, metrics = ([place[name] for name in own] for own, place in zip(names, indices, strict=True))
    part = computed(ds.isel(system=systems))
    scored = has_score(states_of(part)[0])
    return np.where(scored[:, tracks, np.newaxis], numbers_of(part, metrics)[0][:, tracks], np.nan)


def differences(
    a: Comparable,
    b: Comparable,
    *,
    metric: Names = None,
    system: Names = None,
    tracks: Names = None,
    tolerance: float | None = None,
    pair: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> tuple[list[xr.Dataset], tuple[list[str], list[str]]]:
    """The differences of all evaluations that two sides have in common.

    `a`, `b`: a store, one evaluation of a store (``path:group``), a mapping file (.yaml), or what is open already.
    `metric`, `system`, `tracks`, `tolerance`, `pair`: see :func:`compare_sides`. `root`: folder in which the patterns
    of mapping files start, instead of the ones that they name. Returns those of each
    evaluation, and the names of the evaluations that only a, or only b has.
    """
    sides = sides_of(a, root), sides_of(b, root)
    if len(sides[0]) == len(sides[1]) == 1:  # or was asked for only one
        pairs = [(next(iter(sides[0].values())), next(iter(sides[1].values())))]
    else:
        pairs = [(side, sides[1][name]) for name, side in sides[0].items() if name in sides[1]]
    if not pairs:
        raise QueryError(
            f"no evaluation is on both sides: {', '.join(sides[0])}; {', '.join(sides[1])}; "
            "name those to compare behind a colon, as in stores/x.zarr:chord"
        )
    used = [{both[side].group for both in pairs} for side in (0, 1)]
    left = tuple([name for name in groups if name not in used[index]] for index, groups in enumerate(sides))
    return [compare_sides(*both, metric, system, tracks, tolerance, pair) for both in pairs], (left[0], left[1])
