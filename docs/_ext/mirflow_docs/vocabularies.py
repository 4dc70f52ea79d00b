"""Vocabularies as Markdown, from their declarations: annotations, columns, namespaces, chord symbols, drums, exits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mirflow.analysis.signatures import FIELDS
from mirflow.annotations.account import RULES as REMARKS
from mirflow.annotations.schema import HEADINGS, KINDS, Variable
from mirflow.cli.output import MEANINGS
from mirflow.readers.formats import FORMATS
from mirflow.readers.namespaces import NAMESPACES
from mirflow.theory.general_midi import DRUM_MAPS
from mirflow.theory.leadsheet import SUFFIXES

from .markdown import code, plain, table


def kinds_text() -> str:
    """A table of the kinds of annotations with their tasks and variables."""
    rows = [
        (code(kind.name), ", ".join(kind.tasks), "; ".join(_variable(variable) for variable in kind.variables))
        for kind in KINDS.values()
    ]
    return table(("kind", "tasks", "variables"), rows)


def _variable(variable: Variable) -> str:
    units = f" [{variable.units}]" if variable.units else ""
    optional = ", optional" if variable.optional else ""
    return f"{code(variable.name)}{plain(units)} ({plain(variable.long_name)}{optional})"


def headings_text() -> str:
    """A table of the names by which headers may call a column, of each kind with names of its own."""
    rows = [("", code(column), _codes(names)) for column, names in HEADINGS.items()]
    for kind in KINDS.values():
        rows += [(code(kind.name), code(column), _codes(names)) for column, names in kind.headings.items()]
    return table(("kind", "column", "names"), rows)


def namespaces_text() -> str:
    """A table of the JAMS namespaces that the tasks read."""
    names: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for namespace in NAMESPACES.values():
        names[namespace.tasks].append(namespace.name)
    return table(("tasks", "namespaces"), [(", ".join(tasks), _codes(own)) for tasks, own in names.items()])


def formats_text() -> str:
    """A table of the formats: what of a file is taken, what is silent by declaration, and what is reported."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, one in FORMATS.items():
        names[id(one)].append(name)
    rows = []
    for own in names.values():
        one = FORMATS[own[0]]
        silent = "; ".join(plain(text) for text in one.silent.values())
        rows.append((_codes(own), plain(one.takes), silent or "nothing", _codes(one.reports) or "nothing"))
    return table(("format", "taken", "left out in silence", "reported"), rows)


def remarks_text() -> str:
    """A table of the reasons for which readers report a part of a file."""
    rows = [(code(name), rule.severity, plain(rule.summary)) for name, rule in REMARKS.items()]
    return table(("rule", "severity", "what is reported"), rows)


def exits_text() -> str:
    """A table of the exit codes of commands."""
    return table(("code", "meaning"), [(str(number), plain(meaning)) for number, meaning in MEANINGS.items()])


def signatures_text() -> str:
    """A table of the fields of signatures."""
    rows = []
    for name, one in FIELDS.items():
        default = "always named" if one.default is None else code(one.default) if isinstance(one.default, str) else ""
        words, _, left_out = one.words.partition("; left out: ")
        rows.append((code(name), plain(words), plain(left_out) or default or "none"))
    return table(("field", "meaning", "left out"), rows)


def suffixes_text() -> str:
    """A table of chord labels with the symbols of lead sheets that mean them."""
    symbols: dict[str, list[str]] = defaultdict(list)
    for suffix, quality in SUFFIXES.items():
        symbols[f"C:{quality}" if quality != "maj" else "C"].append(f"C{suffix}")
    return table(("label", "symbols"), [(code(label), _codes(names)) for label, names in symbols.items()])


def drum_maps_text() -> str:
    """A table of the drum maps with the pitches of their classes."""
    rows = [
        (code(name), "; ".join(f"{drum} {' '.join(map(str, pitches))}" for drum, pitches in one.classes.items()))
        for name, one in DRUM_MAPS.items()
    ]
    return table(("map", "classes and their pitches"), rows)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(code, names))
