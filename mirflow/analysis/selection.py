"""Names in a question -> positions in a group of a result store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..errors import MetricError, QueryError, UnknownNameError
from ..metrics.base import get_task, parse, tasks

if TYPE_CHECKING:
    import xarray as xr

Names = str | Sequence[str] | None

_COORDINATES = ("system", "track", "metric", "aggregates", "standard_aggregate", "orientation", "unit")
_VARIABLES = ("score", "weight", "status")


def check_group(ds: xr.Dataset) -> None:
    """Refuse a dataset that is not a group of scores.

    Raises
    ------
    QueryError
        Naming the variables and coordinates that it lacks.
    """
    lacking = [name for name in (*_VARIABLES, *_COORDINATES) if name not in ds.variables]
    if lacking:
        raise QueryError(f"not the scores of an evaluation: no {', '.join(lacking)} in this dataset")


def labels_of(ds: xr.Dataset, dim: str) -> list[str]:
    """The names along a dim."""
    return [str(label) for label in ds[dim].values.tolist()]


def as_names(names: Names) -> list[str] | None:
    """One name or several as a list without repetitions; None stays None."""
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(dict.fromkeys(map(str, names)))


def find_labels(ds: xr.Dataset, dim: str, names: Names) -> list[int]:
    """Positions of names along ``system`` or ``track``; all of them for None.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    known = {label: place for place, label in enumerate(labels_of(ds, dim))}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    for name in chosen:
        if name not in known:
            raise UnknownNameError(dim, name, known)
    return [known[name] for name in chosen]


def find_metrics(ds: xr.Dataset, names: Names) -> list[int]:
    """Positions of metrics along ``metric``; all of them for None.

    Parameters
    ----------
    ds : xr.Dataset
        A group of scores.
    names : str, sequence of str or None
        Identities as they are stored, other spellings of them (an alias, parameters that are the defaults), or a
        metric's bare name, which stands for all its stored parameters.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    known = {label: place for place, label in enumerate(labels_of(ds, "metric"))}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    return list(dict.fromkeys(place for name in chosen for place in _places(ds, name, known)))


def _places(ds: xr.Dataset, name: str, known: dict[str, int]) -> Iterable[int]:
    if name in known:
        return [known[name]]
    identity = _identity(ds, name)
    if identity in known:
        return [known[identity]]
    family = [place for label, place in known.items() if label.startswith((f"{name}@", f"{name}("))]
    if not family:
        raise UnknownNameError("metric", name, known)
    return family


def _identity(ds: xr.Dataset, name: str) -> str | None:
    """The identity that a name means under the group's convention; None where it means nothing there."""
    task = str(ds.attrs.get("task", ""))
    if task not in tasks():
        return None
    try:
        convention = get_task(task).convention(ds.attrs.get("convention"))
        return str(parse(name, convention.metrics))
    except (UnknownNameError, MetricError):
        return None
