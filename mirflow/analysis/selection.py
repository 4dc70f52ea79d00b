"""Names in a question -> positions among the systems, tracks and metrics of an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from ..errors import MetricError, QueryError, UnknownNameError
from ..metrics.base import Convention, Measure, get_task, parse, tasks
from .names import CLASS_AGGREGATES, ORDER_AGGREGATES, table_aggregates
from .question import Names
from .scoreboard import Scoreboard

_SHOWN, _LISTED = 5, 10
_MARKS = frozenset("@(")
"""What a name with parameters has in it."""


def as_names(names: Names) -> list[str] | None:
    """One name or several as a list without repetitions; None stays None."""
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(dict.fromkeys(map(str, names)))


def find_labels(board: Scoreboard, dim: str, names: Names) -> list[int]:
    """Positions of names along ``system`` or ``track``; all of them for None.

    What is no name but has ``*``, ``?`` or ``[`` is a pattern that stands for all names that match.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    QueryError
        For a pattern that no name matches.
    """
    known = {label: place for place, label in enumerate(board.names(dim))}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    return list(dict.fromkeys(place for name in chosen for place in _matching(dim, name, known)))


def _matching(dim: str, name: str, known: dict[str, int]) -> list[int]:
    """The position of a name, or those that match it as a pattern."""
    if name in known:
        return [known[name]]
    if not set("*?[") & set(name):
        raise UnknownNameError(dim, name, known)
    found = [place for label, place in known.items() if fnmatchcase(label, name)]
    if not found:
        more = ", ..." if len(known) > _SHOWN else ""
        raise QueryError(f"no {dim} matches {name!r}; there are: {', '.join(list(known)[:_SHOWN])}{more}")
    return found


def find_metrics(board: Scoreboard, names: Names, *, exact: bool = False) -> list[int]:
    """Positions of metrics along ``metric``; all of them for None.

    Parameters
    ----------
    board : Scoreboard
    names : str, sequence of str or None
        A metric's bare name or an alias of it, which stands for all its stored parameters, or a name with parameters,
        which stands for these alone, the defaults too: ``raw_pitch_accuracy@50``.
    exact : bool
        The names are identities as they are stored, of which the bare one is that of the defaults alone.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    QueryError
        For a metric with extra dims.
    """
    known = {label: place for place, label in enumerate(board.metrics)}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    return list(dict.fromkeys(place for name in chosen for place in _places(board, name, known, exact)))


def find_single(board: Scoreboard, name: str, among: Sequence[int] | None = None) -> int:
    """The position of the one metric that a name stands for where only one can: of several that of the defaults.

    Parameters
    ----------
    board : Scoreboard
    name : str
    among : sequence of int or None
        The metrics that are left by what else is asked; None: all.

    Raises
    ------
    QueryError
        If the name stands for several, and none of them has the default parameters.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    found = [place for place in find_metrics(board, name) if among is None or place in among]
    if len(found) == 1:
        return found[0]
    default = [place for place in found if _MARKS.isdisjoint(board.metrics[place])]
    if len(default) != 1:
        some = ", ".join(board.metrics[place] for place in found[:_LISTED]) + (", ..." if found[_LISTED:] else "")
        raise QueryError(f"{name!r} stands for {len(found)} metrics; say one of: {some}")
    return default[0]


def spell_out(board: Scoreboard, place: int) -> str:
    """A metric with the value of its primary parameter, which an identity leaves out where it is the default."""
    label = board.metrics[place]
    measure = _measure(_convention(board), label)
    if measure is None or not measure.values or not _MARKS.isdisjoint(label):
        return label
    return f"{label}@{measure.values[0]}"


def _places(board: Scoreboard, name: str, known: Mapping[str, int], exact: bool = False) -> list[int]:
    if exact and name in known:
        return [known[name]]
    convention = _convention(board)
    measure = _measure(convention, name)
    if _MARKS.isdisjoint(name):
        bare = name if measure is None else measure.metric.name
        family = [place for label, place in known.items() if label == name or bare_name(label) == bare]
        if family:
            return family
    identity = name if name in known else str(measure)
    if identity in known:
        return [known[identity]]
    variables = split_names(board, name)[1]
    if variables:
        raise QueryError(explain_dims(board, variables[0]))
    raise UnknownNameError("metric", name, [*known, *find_tables(board).values()])


def bare_name(label: str) -> str:
    """The name of a metric without its parameters."""
    return label.partition("@")[0].partition("(")[0]


def explain_dims(board: Scoreboard, variable: str, done: Collection[str] = ()) -> str:
    """Why a metric with extra dims cannot stand where it takes one number a track, and what to say instead.

    Parameters
    ----------
    board : Scoreboard
    variable : str
        One of :func:`find_tables`.
    done : collection of str
        Dims that are reduced already.
    """
    measure, sibling = find_measures(board)[variable], board.siblings[variable]
    labelled = zip(measure.metric.dims, sibling.labels(), strict=True)
    left = {dim: labels for dim, labels in labelled if dim not in done}
    dims = f"the dim{'s' if len(left) > 1 else ''} {' and '.join(left)}"
    needs = f"metric {str(measure)!r} has {dims}; this takes one number a track"
    rated = _rated(measure)
    if rated:
        # Of counts by class or by outcome, and of affinities, a mean along these says nothing.
        return f"{needs}, and {rated}"
    said = " ".join(f"--over {dim}=mean" for dim in left)
    one = "".join(
        f", or one alone: --over {dim}={labels[0]}" for dim, labels in left.items() if labels and len(left) == 1
    )
    return f"{needs}: {said}{one}"


def _rated(measure: Measure) -> str:
    """What there is of a metric that counts by class or outcome, or holds affinities; empty for all others."""
    dims = measure.metric.dims
    kinds = [kind for kind in table_aggregates(measure.metric.orientation, dims) if kind in CLASS_AGGREGATES]
    if not kinds:
        return ""
    ordered = set(kinds) <= {*ORDER_AGGREGATES}
    some = "query (also with --ci)" if ordered else "query (also with --ci, --significance), compare"
    unit = "tag" if "tag" in dims else "class"
    return (
        f"its figures are those of all tracks together, by one of --aggregate {', '.join(kinds)}: {some} and "
        f"--friedman with --unit {unit} take them, of this metric alone"
    )


def _convention(board: Scoreboard) -> Convention | None:
    """The convention of an evaluation; None where this mirflow does not know it."""
    task = str(board.attrs.get("task", ""))
    try:
        return get_task(task).convention(board.attrs.get("convention")) if task in tasks() else None
    except UnknownNameError:
        return None


def _measure(convention: Convention | None, name: str) -> Measure | None:
    if convention is None:
        return None
    try:
        return parse(name, convention.metrics)
    except (UnknownNameError, MetricError):
        return None


def find_tables(board: Scoreboard) -> dict[str, str]:
    """The metrics with extra dims that an evaluation holds: the name of each variable and the metric's identity.

    Parameters
    ----------
    board : Scoreboard
    """
    return {variable: str(measure) for variable, measure in find_measures(board).items()}


def find_measures(board: Scoreboard) -> dict[str, Measure]:
    """The metrics with extra dims that an evaluation holds, by the names of their variables."""
    convention = _convention(board)
    if convention is None:
        return {}
    found = {}
    for variable, sibling in board.siblings.items():
        said = [str(sibling.attrs["metric"])] if "metric" in sibling.attrs else _spellings(convention, variable)
        for identity in said:
            measure = _measure(convention, identity)
            if measure is not None and measure.metric.dims and measure.variable == variable:
                found[variable] = measure
    return found


def _spellings(convention: Convention, variable: str) -> Iterable[str]:
    """What a variable may be called that does not say which metric it holds, as in a dataset of the user's own."""
    for metric in convention.metrics:
        value = variable.removeprefix(f"{metric.name}_")
        yield metric.name if value == variable else f"{metric.name}@{value}"


def split_names(board: Scoreboard, names: Names, *, exact: bool = False) -> tuple[list[str], list[str]]:
    """Names in a question, apart: those of metrics that are one number, and the variables of those with extra dims.

    A metric with extra dims is named by its bare name for all its stored parameters, by a name with parameters for
    these alone, or by its variable; `exact` as for :func:`find_metrics`. What is not there counts as the name of a
    number.
    """
    tables, convention = find_tables(board), _convention(board)
    numbers: list[str] = []
    variables: list[str] = []
    for name in as_names(names) or []:
        measure = _measure(convention, name)
        same = [variable for variable in tables if variable in (name, measure.variable if measure else name)]
        bare = measure.metric.name if measure and not exact and _MARKS.isdisjoint(name) else None
        family = [variable for variable, one in tables.items() if bare is not None and bare_name(one) == bare]
        found = [] if name in board.metrics else family or same
        variables += found
        numbers += [] if found else [name]
    return numbers, list(dict.fromkeys(variables))
