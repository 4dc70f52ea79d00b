"""Placeholders that are free, and those that are nearly one with a meaning."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import MappingProxyType

from ..readers.patterns import Pattern

_MEANT = MappingProxyType({"reference": ("track", "annotator"), "estimates": ("track", "system", "annotator")})
"""What placeholders of each side stand for, whatever the kind of annotation."""
_OF_KIND: Mapping[str, Collection[str]] = MappingProxyType({"hierarchy": ("level",), "audio": ("source",)})
_ALIKE = 0.86
"""How alike a slip is: `sytem`, `systems` and `trak` are, `system_run` and `subsystem` are names of their own."""


def find_slip(pattern: Pattern, side: str, kind: str) -> str:
    """What to say of a free placeholder that is nearly called like one that the pattern lacks; empty if there is none.

    Parameters
    ----------
    pattern : Pattern
    side : {"reference", "estimates"}
    kind : str
        Of the annotations.

    Examples
    --------
    >>> find_slip(Pattern("lists/{sytem}.txt"), "estimates", "ranking")
    "{sytem} has no meaning, but is nearly {system}: correct or rename it: 'lists/{sytem}.txt'"
    >>> find_slip(Pattern("fold{fold}/{track}.lab"), "reference", "labels")
    ''
    """
    meant = (*_MEANT[side], *_OF_KIND.get(kind, ()))
    lacking = [name for name in meant if name not in pattern.names]
    for name in pattern.names:
        near = difflib.get_close_matches(name.lower(), lacking, n=1, cutoff=_ALIKE) if name not in meant else []
        if near:
            return f"{{{name}}} has no meaning, but is nearly {{{near[0]}}}: correct or rename it: {pattern.text!r}"
    return ""
