"""The metrics of a task as Markdown, from the records that the code itself uses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import iter_modules

import mirflow.metrics
from mirflow.annotations.account import RULES as REMARKS
from mirflow.causes.transformations import TRANSFORMATIONS
from mirflow.engine.plausibility import every_doubt
from mirflow.evaluation.consistency import RULES, SPELLING, VOCABULARY
from mirflow.metrics.aggregates import TABLE_AGGREGATES
from mirflow.metrics.base import Convention, get_task, tasks
from mirflow.metrics.constants import CONSTANTS, WINS, constants_that_win
from mirflow.metrics.edits import ErrorKind
from mirflow.metrics.measures import KEY, Metric, Parameter, describe, spell_out

from .markdown import code, plain, table

_POOLING = {
    "exact": "with its weights the mean over tracks is the score of the collection as one long file (`pooled`)",
    "micro": "its weighted mean over tracks (`pooled`) is a meaningful ratio, but not the score of one long file",
    "none": "it has no weighted mean",
}
_ORIENTATION = {"higher": "higher is better", "lower": "lower is better", "none": "neither end is better"}


_PAGE = """# {title}: `{name}`

<!-- generated: introduction mirflow.metrics.{name} -->

## Metrics

Generated from the records that the code uses; `mirflow metrics {name}` prints the same. Formulas, weights and oracles
are explained in [{page}](../../{page}.md).

<!-- generated: metrics {name} -->

{constants}## Functions for one pair

{functions}
"""

_CONSTANTS = """## Constant estimates

These estimates say nothing and score within a tenth of a perfect one, so their metrics cannot rank systems alone:

<!-- generated: constants {name} -->

"""


def task_page(name: str, pages: Path) -> str:
    """The page of a task in the reference; tasks with the metrics of another share its page and functions.

    Parameters
    ----------
    name : str
    pages : Path
        The folder with the pages that explain the tasks.
    """
    task = get_task(name)
    page = explaining_page(name, pages)
    if name != _alike(name)[0]:
        functions = f"`from mirflow.metrics import {name}`: the functions of [{_alike(name)[0]}]({_alike(name)[0]}.md)."
    elif "mir_eval" in task.conventions:
        modules = [module.name for module in iter_modules(mirflow.metrics.__path__) if module.name.startswith(name)]
        functions = "\n\n".join(
            f"`from mirflow.metrics import {module}`: the public names of `mir_eval.{module}`, with the same "
            f"arguments, results and errors.\n\n<!-- generated: functions mirflow.metrics.{module} -->"
            for module in modules
        )
    else:
        functions = (
            f"`from mirflow.metrics import {name}`: functions of plain lists and arrays. mir_eval has no such task.\n\n"
            f"<!-- generated: functions mirflow.metrics.{name} -->"
        )
    constants = _CONSTANTS.format(name=name) if WINS.get(name) else ""
    return _PAGE.format(title=task.title, name=name, page=page, constants=constants, functions=functions)


def explaining_page(name: str, pages: Path) -> str:
    """The page that explains a task: it has the task's name, or marks the task's section by ``<!-- task: NAME -->``."""
    alike = _alike(name)
    for page in sorted(pages.glob("*.md")):
        if page.stem in alike or any(f"<!-- task: {one} -->" in page.read_text(encoding="utf-8") for one in alike):
            return page.stem
    raise FileNotFoundError(f"no page of the task {name!r}: write docs/{name}.md")


def _alike(name: str) -> list[str]:
    """The tasks that share the conventions of one, itself among them."""
    return [one for one in tasks() if get_task(one).conventions is get_task(name).conventions]


def conventions_text(task: str = "") -> str:
    """A table of the conventions of a task, or of all tasks, of which those with the same ones share a row."""
    if task:
        summaries = [(code(rules.name), plain(rules.summary)) for rules in get_task(task).conventions.values()]
        return table(("convention", "rules"), summaries)
    rows = []
    for name in tasks():
        alike = _alike(name)
        if name != alike[0]:
            continue
        subject = ", ".join(f"[{code(one)}](reference/tasks/{one}.md)" for one in alike)
        for rules in get_task(name).conventions.values():
            rows.append((subject, code(rules.name), plain(rules.summary)))
            subject = ""
    return table(("task", "convention", "rules"), rows)


def keys_text() -> str:
    """A table of the keys of mir_eval's results with the metrics that they name."""
    rows = []
    for name in tasks():
        rules = get_task(name).convention()
        known = describe(list(dict.fromkeys((*rules.select(), *(one.measure() for one in rules.metrics)))))
        keyed = {key: metric for key, metric in zip(known[KEY], known["metric"], strict=True) if key}
        rows += [("" if at else code(name), code(key), code(keyed[key])) for at, key in enumerate(keyed)]
    return table(("task", "mir_eval's key", "metric"), rows)


def doubts_text() -> str:
    """A list of the signs of mistakes that runs warn of."""
    signs = [doubt.sign for doubt in every_doubt()]
    signs += [rule.summary for rule in REMARKS.values() if rule.severity == "warning"]
    return "\n".join(f"- {sign}" for sign in signs) + "\n"


def causes_text() -> str:
    """A table of the causes of low scores that are looked for."""
    known = TRANSFORMATIONS.values()
    rows = [(code(one.name), plain(one.summary), plain(one.limits), one.unit or "") for one in known]
    return table(("cause", "meaning", "tried", "unit"), rows)


def constants_text(task: str) -> str:
    """A table of the constant estimates that win metrics of a task."""
    rows = [(plain(CONSTANTS[name]), ", ".join(map(code, metrics))) for name, metrics in WINS[task].items()]
    return table(("estimate", "within a tenth of a perfect score by"), rows)


def rules_text() -> str:
    """A table of the rules by which references are searched for mistakes."""
    rows = [(code(rule.name), ", ".join(rule.tasks), plain(rule.sign)) for rule in RULES]
    rows += [(code(name), "names of a list", plain(sign)) for name, sign in (SPELLING, VOCABULARY)]
    return table(("rule", "tasks", "finds"), rows)


def errors_text() -> str:
    """A table of the kinds of errors of the tasks; tasks with the same kinds share them."""
    names: dict[tuple[ErrorKind, ...], list[str]] = {}
    for name in tasks():
        task = get_task(name)
        for errors in (task.errors, *(rules.errors for rules in task.conventions.values())):
            if errors is not None:
                names.setdefault(errors.kinds, []).append(name)
    rows = [
        ("" if at else ", ".join(map(code, dict.fromkeys(of))), code(kind.name), plain(kind.summary))
        for kinds, of in names.items()
        for at, kind in enumerate(kinds)
    ]
    return table(("task", "kind", "errors"), rows)


def tasks_text() -> str:
    """A table of the tasks, and the list of their pages."""
    rows = []
    for name in tasks():
        task = get_task(name)
        counts = [f"{code(rules.name)} ({len(rules.metrics)})" for rules in task.conventions.values()]
        rows.append((f"[{code(name)}](tasks/{name}.md)", plain(task.title), ", ".join(counts)))
    pages = "\n".join(f"tasks/{name}" for name in tasks())
    listed = f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    return f"{table(('task', 'title', 'conventions (metrics)'), rows)}\n{listed}"


def metrics_text(name: str) -> str:
    """The records of a task, a section for each convention."""
    task = get_task(name)
    parts = []
    for position, rules in enumerate(task.conventions.values()):
        default = " (the default)" if position == 0 else ""
        source = f" {_sentence(plain(spell_out(rules.literature)))}" if rules.literature else ""
        about = f"{_sentence(plain(rules.summary))}{source}{_computed(rules)}"
        parts.append(f"## Convention `{rules.name}`{default}\n\n{about}\n")
        parts.append(_overview(name, rules))
        parts += [_record(name, rules, metric) for metric in rules.metrics]
    return "\n".join(parts)


def overview_text(subject: str) -> str:
    """A table of the metrics of a task's default convention, or of another one: ``TASK.CONVENTION``."""
    name, _, convention = subject.partition(".")
    rules = get_task(name).convention(convention or None)
    rows = [
        (f"[{code(metric.name)}](#{label(name, rules.name, metric.name)})", plain(metric.summary), plain(metric.weight))
        for metric in rules.metrics
    ]
    return table(("metric", "what it measures", "weight"), rows)


def label(task: str, convention: str, metric: str) -> str:
    """The target of links to a metric."""
    return f"{task}-{convention}-{metric}"


def _overview(task: str, rules: Convention) -> str:
    rows = [
        (
            f"[{code(metric.name)}](#{label(task, rules.name, metric.name)})",
            plain(metric.summary),
            _range(metric),
            plain(metric.weight),
            code(_aggregates(metric)[0]),
        )
        for metric in rules.metrics
    ]
    return table(("metric", "what it measures", "range", "weight", "usual aggregate"), rows)


def _record(task: str, rules: Convention, metric: Metric) -> str:
    rows = [(name, text) for name, text in _facts(metric, rules) if text]
    parts = [
        f"({label(task, rules.name, metric.name)})=\n### `{metric.name}`",
        f"**{plain(metric.title)}**: {_sentence(plain(metric.summary))}",
        table(("field", "value"), rows),
    ]
    if metric.parameters:
        parts.append(table(("parameter", "default", "meaning"), map(_parameter, metric.parameters)))
    return "\n\n".join(parts) + "\n"


def _facts(metric: Metric, rules: Convention) -> Iterator[tuple[str, str]]:
    """Names and texts of the fields of a record; empty where it has none."""
    standard, *others = _aggregates(metric)
    yield "range", f"{_range(metric)}; {_ORIENTATION[metric.orientation]}"
    yield "weight", f"{plain(metric.weight)}{f' ({plain(metric.weight_unit)})' if metric.weight_unit else ''}"
    yield "aggregates", f"{code(standard)} is usual; {', '.join(map(code, others))}" if others else code(standard)
    yield "pooling", "" if metric.dims else _POOLING[metric.pooling]
    yield "extra dims", ", ".join(map(code, metric.dims))
    yield "a perfect estimate", _perfect(metric)
    yield "perfect for", "; ".join(plain(words) for words in constants_that_win(rules.task, metric.name))
    yield "in mir_eval", plain(metric.key)
    yield "also called", ", ".join(plain(alias) for alias in metric.aliases)
    yield "computed", "" if metric.default or rules.default_measures else "when it is named"
    yield "source", plain(metric.source)
    yield "version", str(metric.version)


def _perfect(metric: Metric) -> str:
    value = "" if metric.perfect is None else f"scores {metric.perfect:g}"
    return "; ".join(filter(None, (value, plain(metric.perfect_exceptions))))


def _parameter(parameter: Parameter) -> tuple[str, str, str]:
    limits = [
        f"one of {', '.join(map(code, parameter.choices))}" if parameter.choices else "",
        f"or {' or '.join(map(code, parameter.words))}" if parameter.words else "",
        f"greater than {parameter.above:g}" if parameter.above is not None else "",
        f"at least {parameter.least:g}" if parameter.least is not None else "",
    ]
    unit = "" if parameter.default in parameter.words else parameter.unit
    default = f"{code(_value(parameter.default))} {unit}".strip()
    return code(parameter.name), default, "; ".join(filter(None, (plain(parameter.help), *limits)))


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _range(metric: Metric) -> str:
    low, high = metric.range
    unit = f" ({plain(metric.unit)})" if metric.unit else ""
    if math.isinf(low):
        return f"{'any number' if math.isinf(high) else f'at most {high:g}'}{unit}"
    return f"{low:g} or more{unit}" if math.isinf(high) else f"{low:g} to {high:g}{unit}"


def _aggregates(metric: Metric) -> tuple[str, ...]:
    """The standard aggregate and the others; metrics with extra dims have their own."""
    if metric.dims:
        return tuple(TABLE_AGGREGATES)
    return metric.standard_aggregate, *(name for name in metric.aggregates if name != metric.standard_aggregate)


def _computed(rules: Convention) -> str:
    if not rules.default_measures:
        return ""
    return f" Computed where none is named: {', '.join(map(code, map(str, rules.default_measures)))}."


def _sentence(text: str) -> str:
    """With a capital, unless it begins with a program and its version, and a full stop."""
    first = text if re.match(r"\S+ \d", text) else f"{text[:1].upper()}{text[1:]}"
    return first if first.endswith(".") else f"{first}."
