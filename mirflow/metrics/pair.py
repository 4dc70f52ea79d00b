"""Functions over one pair of plain arrays, under mir_eval's names: their arguments, scores and docstrings.

For metrics that mir_eval does not have, functions are made under their names in mirflow.
"""

from __future__ import annotations

import inspect
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import refuse_unknown
from ..ragged import Column, Ragged
from .cleaning import Cleaned
from .measures import Measure, Metric, Parameter, Value, spell_out

_Function = TypeVar("_Function", bound=Callable[..., Any])

_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ORDER = ("Parameters", "Returns", "Raises", "Warns", "Notes", "References", "Examples")
EVERY = """Returns
-------
dict of str to float
    Scores by metric; NaN if there is nothing to measure.
"""
"""Section of the docstrings of functions that return the result of `PairFunctions.every`."""
_KEYED = "OrderedDict of str to float\n    Scores under mir_eval's keys."
_RETURNS = {"float": "float", "OrderedDict[str, float]": _KEYED}


def documented(common: str, metrics: Iterable[Metric] = (), *, strict: bool = True) -> Callable[[_Function], _Function]:
    """Complete the docstrings of functions over one pair.

    Parameters
    ----------
    common : str
        Sections shared by the functions of a module, as in a docstring. Functions get the entries of ``Parameters``
        that describe their arguments, in order; entries of other sections precede their own.
    metrics : iterable of Metric
        Metrics that describe the remaining arguments, by their names in mir_eval, and the references of functions
        without any. References may cite keys of ``literature.bib``.
    strict : bool
        Whether unused keyword arguments are refused.

    Returns
    -------
    callable
        Decorator that completes the docstring of a function, including its keyword arguments and a returned dict of
        scores.

    Examples
    --------
    >>> @documented("Raises\\n------\\nValueError\\n    For an empty side.")
    ... def hits(window=0.05):
    ...     '''Count hits.
    ...
    ...     Parameters
    ...     ----------
    ...     window : float, seconds
    ...     '''
    >>> print(hits.__doc__)
    Count hits.
    <BLANKLINE>
    Parameters
    ----------
    window : float, seconds
    <BLANKLINE>
    Raises
    ------
    ValueError
        For an empty side.
    """
    shared, records = _split(common)[1], tuple(metrics)

    def complete(function: _Function) -> _Function:
        if function.__doc__ is None:  # python -OO strips docstrings
            return function
        head, sections = _split(function.__doc__)
        signature = inspect.signature(function)
        for name, body in shared.items():
            if name != "Parameters":
                sections[name] = "\n".join(filter(None, (body, sections.get(name))))
        named = [metric for metric in records if (metric.mir_eval or metric.name) == function.__name__]
        entries: dict[str, str] = {}
        for text in (shared.get("Parameters", ""), sections.get("Parameters", "")):
            for entry in re.split(r"\n(?=\S)", text):  # one entry may describe several parameters
                for name in re.split(r",\s*", entry.split("\n")[0].split(" : ")[0]):
                    entries[name.lstrip("*")] = entry
        arguments = signature.parameters.values()
        of_metrics = [parameter for metric in (*named, *records) for parameter in metric.parameters]
        for argument in arguments:
            if argument.kind is argument.VAR_KEYWORD:
                options = dict.fromkeys(p.mir_eval for one in (*named, *records) if one.key for p in one.parameters)
                listed = "``, ``".join(filter(None, options))
                others = f"Parameters of the other functions{f': ``{listed}``' if listed else ''}"
                entries.setdefault(argument.name, f"**{argument.name}\n    {others}.")
            for parameter in of_metrics:
                if argument.name == (parameter.mir_eval or parameter.name):
                    entries.setdefault(argument.name, _entry(parameter, argument.name, argument.default))
        wanted = (entries.get(argument.name, "") for argument in arguments)
        sections["Parameters"] = "\n".join(dict.fromkeys(filter(None, wanted)))
        sections.setdefault("Returns", _RETURNS.get(signature.return_annotation, ""))
        if strict and any(argument.kind is argument.VAR_KEYWORD for argument in arguments):
            refused = "TypeError\n    For any other keyword argument."
            sections["Raises"] = "\n".join(filter(None, (refused, sections.get("Raises"))))
        if references := sections.get("References") or "; ".join(metric.literature for metric in named):
            sections["References"] = "\n".join(dict.fromkeys(spell_out(references).split("; ")))
        present = [name for name in _ORDER if sections.get(name)]
        function.__doc__ = "\n\n".join([head, *(f"{name}\n{'-' * len(name)}\n{sections[name]}" for name in present)])
        return function

    return complete


def _split(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the text before its first section, and the sections by their headings."""
    head, *rest = _HEADING.split(inspect.cleandoc(text))
    return head.strip(), {name: body.strip("\n") for name, body in zip(rest[::2], rest[1::2], strict=True)}


def _entry(parameter: Parameter, name: str, default: object) -> str:
    unit = ", seconds" if parameter.unit == "s" else f", {parameter.unit}" if parameter.unit else ""
    text = f"{parameter.help[:1].upper()}{parameter.help[1:]}"
    choices = ", ".join(f'"{choice}"' for choice in parameter.choices)
    kind = f"{{{choices}}}" if choices else type(parameter.default).__name__
    kind = " or ".join((kind, *(f'"{word}"' for word in parameter.words)))
    return f"{name} : {kind}{unit}, default {default}\n    {text}."


def row_of_intervals(intervals: npt.ArrayLike, labels: Iterable[Any] | None = None) -> Ragged:
    """Make a ragged row of intervals, (n, 2) in seconds."""
    start, end = np.asarray(intervals, dtype=np.float64).reshape(-1, 2).T
    columns: dict[str, Column] = {"start": np.ascontiguousarray(start), "end": np.ascontiguousarray(end)}
    codes: dict[str, int] = {}
    if labels is not None:
        code = [codes.setdefault(str(label), len(codes)) for label in labels]
        columns["label"] = np.array(code, dtype=np.int64)
    return Ragged(columns, (np.array([len(start)], dtype=np.int64),), tuple(codes))


def clean_row(clean: Callable[[Ragged], Cleaned], side: str, arrays: tuple[npt.ArrayLike, Iterable[Any]]) -> Ragged:
    """Make a clean row of intervals and labels; raise an error that names the side for a flaw."""
    return clean(row_of_intervals(arrays[0], arrays[1])).checked(side)


def are_close(a: float, b: float) -> bool:
    """Equivalent of numpy.allclose for two numbers, in a twentieth of its time."""
    a, b = float(a), float(b)
    return a == b or abs(a - b) <= 1e-8 + 1e-5 * abs(b) < math.inf


class PairFunctions:
    """Score pairs of plain arrays by the metrics of a convention, with the interface of mir_eval's functions.

    `score`: (reference, estimate, measures) -> a score for each measure, from the kernel with a batch of one. `check`:
    (reference, estimate, measures) -> None; raises errors for invalid pairs, and warns. `fixed`: values of parameters
    that these functions do not have.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        score: Callable[[Any, Any, Sequence[Measure]], Iterable[float]],
        check: Callable[[Any, Any, Sequence[Measure]], object] = lambda reference, estimate, measures: None,
        fixed: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        self.metrics, self.score, self.check = tuple(metric for metric in metrics if not metric.dims), score, check
        self.fixed = dict(fixed)
        self.keyed = tuple(metric for metric in self.metrics if metric.key)
        self.parameters = tuple(dict.fromkeys(p.mir_eval for one in self.keyed for p in one.parameters if p.mir_eval))
        self._keyed_measures: tuple[Measure, ...] = ()  # those without parameters given, once they are needed
        self._defaults: list[Measure] = []
        self._of: dict[str, list[tuple[Metric, list[tuple[str, Value]]]]] = {}
        for one in (*self.keyed, *(metric for metric in self.metrics if not metric.key)):
            defaults = [(p.name, p.default) for p in one.parameters]
            self._of.setdefault((one.key and one.mir_eval) or one.name, []).append((one, defaults))

    def __call__(self, function: str, reference: Any, estimate: Any, **given: Value) -> list[float]:
        """Check a pair and return the results of a function, with parameters named as in records."""
        given |= self.fixed
        records = self._of[function]
        measures = [Measure(one, tuple([given.get(key, value) for key, value in pairs])) for one, pairs in records]
        self.check(reference, estimate, measures)
        return [float(value) for value in self.score(reference, estimate, measures)]

    def measures(self, given: Mapping[str, Value], *others: str) -> tuple[Measure, ...]:
        """Measures of `evaluate`, for parameters with mir_eval's names; a TypeError for unknown ones."""
        refuse_unknown("evaluate", given, (*others, *self.parameters))
        if given or not self._keyed_measures:
            measures = tuple(
                Measure(one, tuple(self.fixed.get(p.name, given.get(p.mir_eval, p.default)) for p in one.parameters))
                for one in self.keyed
            )
            if given:
                return measures
            self._keyed_measures = measures
        return self._keyed_measures

    def evaluate(
        self, reference: Any, estimate: Any, given: Mapping[str, Value], *others: str
    ) -> OrderedDict[str, float]:
        """Check a pair and return all scores under mir_eval's keys; see `measures`."""
        measures = self.measures(given, *others)
        self.check(reference, estimate, measures)
        scores = self.score(reference, estimate, measures)
        return OrderedDict((measure.metric.key, float(value)) for measure, value in zip(measures, scores, strict=True))

    def every(self, reference: Any, estimate: Any, given: Mapping[str, Value]) -> dict[str, float]:
        """Check a pair and return all default scores by metric.

        Parameters are named as in records and apply to all metrics that have them; a TypeError is raised for names that
        are unknown or have several meanings.
        """
        measures = self._defaults
        if given or not measures:
            asked = [metric for metric in self.metrics if metric.default]
            defaults: dict[str, set[Value]] = {}
            for parameter in (parameter for one in asked for parameter in one.parameters):
                defaults.setdefault(parameter.name, set()).add(parameter.default)
            refuse_unknown("evaluate", given, [name for name, values in defaults.items() if len(values) == 1])
            measures = [one.measure(**given) for one in asked]
            if not given:
                self._defaults = measures
        self.check(reference, estimate, measures)
        scores = self.score(reference, estimate, measures)
        return {measure.metric.name: float(value) for measure, value in zip(measures, scores, strict=True)}

    def functions(self, sides: str) -> dict[str, Callable[..., float]]:
        """Make functions of the metrics that mir_eval does not have, under their names in mirflow.

        Parameters
        ----------
        sides : str
            Description of reference and estimate, for the docstrings.
        """
        return {metric.name: self._function(metric, sides) for metric in self.metrics if not metric.key}

    def _function(self, metric: Metric, sides: str) -> Callable[..., float]:
        taken = [p for p in metric.parameters if p.name not in self.fixed]

        def function(reference: Any, estimate: Any, **parameters: Value) -> float:
            refuse_unknown(metric.name, parameters, (p.name for p in taken))
            measure = metric.measure(**parameters)
            return self(metric.name, reference, estimate, **measure.parameters)[0]

        function.__name__ = function.__qualname__ = metric.name
        head = f"{metric.summary[:1].upper()}{metric.summary[1:]}.\n\nParameters\n----------"
        entries = [f"reference, estimate\n    {sides}", *(_entry(one, one.name, one.default) for one in taken)]
        rest = f"\nReturns\n-------\nfloat\n\nReferences\n----------\n{metric.literature}"
        function.__doc__ = "\n".join([head, *entries, rest])
        return function
