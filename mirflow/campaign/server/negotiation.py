"""What a client accepts, by the headers ``Accept`` and ``Accept-Encoding`` (RFC 9110, sections 12.4.2 and 12.5).

Starlette does not parse them, and another web framework for this alone would be a dependency of every server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ELEMENT = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_PART = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*")+')
"""Parts of a header between commas, and of such a part between semicolons; both may stand in quotes."""
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"{_TOKEN}(?:/{_TOKEN})?")
_MOST = 2000
"""Characters of a header that are looked at: quotes that do not close take time."""
_WEIGHT = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")


def weights_of(header: str) -> dict[str, float]:
    """Return the weight of each range in a header, in its order; elements that are not well-formed are left out.

    Examples
    --------
    >>> weights_of("text/html;level=1;q=0.5, */*;q=0, text/csv, json/;q=2")
    {'text/html': 0.5, '*/*': 0.0, 'text/csv': 1.0}
    """
    weights: dict[str, float] = {}
    for element in _ELEMENT.findall(header[:_MOST].lower()):
        name, *parameters = (part.strip() for part in _PART.findall(element))
        weight = "1"
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                weight = value.strip()
                break  # what follows is not about the range
        if _RANGE.fullmatch(name) and _WEIGHT.fullmatch(weight):
            weights.setdefault(name, float(weight))
    return weights


def weight_of(header: str, kind: str) -> float:
    """Return how welcome a media type or a coding is: the weight of the most specific range, 0 if it is refused.

    Examples
    --------
    >>> header = "text/*;q=0.3, text/csv;q=0.8, application/json;q=0"
    >>> [weight_of(header, kind) for kind in ("text/csv", "text/html", "application/json", "image/png")]
    [0.8, 0.3, 0.0, 0.0]
    """
    weights = weights_of(header)
    return next((weights[name] for name in _ranges(kind) if name in weights), 0.0)


def choose_kind(header: str, kinds: Sequence[str]) -> str | None:
    """Return the most welcome of some media types; of equal ones the first that the client names; None if all are
    refused. Without a header everything is welcome.

    Examples
    --------
    >>> choose_kind("application/json;q=0, text/csv", ["application/json", "text/csv"])
    'text/csv'
    >>> choose_kind("text/csv;q=0.1, */*", ["application/json", "text/csv"]), choose_kind("image/png", ["text/csv"])
    ('application/json', None)
    """
    weights = weights_of(header)
    if not weights:
        return kinds[0]
    names = list(weights)
    ranked = []
    for kind in kinds:
        name = next((name for name in _ranges(kind) if name in weights), None)
        if name is not None and weights[name] > 0:
            ranked.append((-weights[name], names.index(name), kind))
    return min(ranked, key=lambda row: row[:2])[2] if ranked else None


def takes_gzip(header: str) -> bool:
    """Return True if a client accepts gzip by its ``Accept-Encoding``.

    Examples
    --------
    >>> takes_gzip("br, gzip"), takes_gzip("gzip;q=0, br"), takes_gzip("*;q=0.5"), takes_gzip("")
    (True, False, True, False)
    """
    return weight_of(header, "gzip") > 0


def _ranges(kind: str) -> list[str]:
    """The ranges that a media type or a coding is in, the most specific one first."""
    main, slash, _ = kind.partition("/")
    return [kind, f"{main}/*", "*/*"] if slash else [kind, "*"]
