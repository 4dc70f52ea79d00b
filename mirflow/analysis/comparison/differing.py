"""Which evaluations of two sides belong together, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import QueryError
from ..question import Names
from .difference import Difference, compare_sides
from .sides import Comparable, Side, sides_of

if TYPE_CHECKING:
    import xarray as xr

Pairing = list[tuple[Side, Side]]


def differences(
    a: Comparable,
    b: Comparable,
    *,
    metric: Names = None,
    system: Names = None,
    track: Names = None,
    tolerance: float | None = None,
    pair: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> tuple[list[Difference], tuple[list[str], list[str]]]:
    """The differences of all evaluations that two sides have in common.

    Parameters
    ----------
    a, b : path, xr.DataTree or xr.Dataset
        A store, one evaluation of a store (``path:group``), a mapping file (.yaml), or what is open already.
    metric, system, track, tolerance, pair
        See :func:`compare_sides`.
    root : path or None
        Where the patterns of mapping files start, instead of what these say.

    Returns
    -------
    list of Difference
    (list of str, list of str)
        The evaluations that only a, or only b has.

    Raises
    ------
    QueryError
        If they have nothing in common.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    sides = sides_of(a, root), sides_of(b, root)
    pairs = _pairs(*sides)
    used = [{both[place].group for both in pairs} for place in (0, 1)]
    left = tuple([name for name in groups if name not in used[place]] for place, groups in enumerate(sides))
    return [compare_sides(*both, metric, system, track, tolerance, pair) for both in pairs], (left[0], left[1])


def _pairs(left: Mapping[str, Side], right: Mapping[str, Side]) -> Pairing:
    """Evaluations of the same name; where each side has, or was asked for, only one, these two."""
    if len(left) == len(right) == 1:
        return [(next(iter(left.values())), next(iter(right.values())))]
    pairs = [(side, right[name]) for name, side in left.items() if name in right]
    if not pairs:
        raise QueryError(
            f"no evaluation stands on both sides: {', '.join(left)}; {', '.join(right)}; "
            "name those to compare behind a colon, as in stores/x.zarr:chord"
        )
    return pairs


def diff(
    a: Comparable,
    b: Comparable,
    *,
    metric: Names = None,
    system: Names = None,
    track: Names = None,
    tolerance: float | None = None,
    pair: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> xr.Dataset:
    """How far two evaluations are from each other.

    Parameters
    ----------
    a, b : path, xr.DataTree or xr.Dataset
        A store, one evaluation of a store (``path:group``), a mapping file (.yaml) that describes published tables, or
        what is open already. Systems and tracks are matched by name, metrics by name and parameters.
    metric, system, track : str, sequence of str or None
        Only these; None: all that both have.
    tolerance : float or None
        Up to which scores agree; None: half of the last printed digit of a published table, at least 1e-9.
    pair : mapping of str to str or None
        Metrics of a and the one of b that each is compared with, ``{"f_measure": "f_measure(matching=greedy)"}``; then
        no others are compared unless `metric` names some. Such a metric is called ``A=B``.
    root : path or None
        Where the patterns of mapping files start, instead of what these say.

    Returns
    -------
    xr.Dataset
        ``a``, ``b`` and ``difference`` (a - b) float64 over (system, track, metric), NaN where a side has no score;
        over metric ``relative_change`` (the average of ``|a - b| / ((|a| + |b|) / 2)``, 0 where both are 0: section 4
        of Raffel et al., mir_eval, ISMIR 2014), ``mean_difference``, ``max_difference``, ``n`` and ``n_agreeing``,
        ``missing_a`` and ``missing_b``; ``setting_a`` and ``setting_b`` over what differs in the settings. Attributes
        name what only one side has.

    Raises
    ------
    QueryError
        If the sides have several evaluations in common, or none.
    UnknownNameError
        For a name that is not there, with a suggestion.

    Examples
    --------
    >>> import xarray as xr
    >>> def scores(value):
    ...     names = {"system": ["A"], "track": ["x", "y"], "metric": ["majmin"]}
    ...     about = {"aggregates": "mean", "standard_aggregate": "mean", "orientation": "higher", "unit": ""}
    ...     cells = (("system", "track", "metric"), [[[1.0], [value]]])
    ...     variables = {"score": cells, "weight": cells, "status": (("system", "track"), [[1, 1]])}
    ...     return xr.Dataset(variables, names | {name: ("metric", [one]) for name, one in about.items()})
    >>> found = diff(scores(0.75), scores(0.25))
    >>> found["relative_change"].item(), found["max_difference"].item(), found["n_agreeing"].item()
    (0.5, 0.5, 1)
    """
    chosen: dict[str, Names] = {"metric": metric, "system": system, "track": track}
    found, _ = differences(a, b, **chosen, tolerance=tolerance, pair=pair, root=root)
    if len(found) > 1:
        names = ", ".join(one.sides[0].group for one in found)
        raise QueryError(f"several evaluations stand on both sides: {names}; name one, as in stores/x.zarr:chord")
    return found[0].to_dataset()
