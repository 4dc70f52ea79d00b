"""Lines below tables for people: what a column's counts, units and infinities mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.cautions import WARNINGS
from ..analysis.references import REFERENCES_DIFFER
from ..ragged import Float, Int

if TYPE_CHECKING:
    from ..analysis.inference import Comparison, Friedman


def count_notes(heads: Sequence[str], counts: Int) -> tuple[str, ...]:
    """How many scores count in each column, where a row shows only the fewest and the most of its columns.

    Parameters
    ----------
    heads : sequence of str
        What stands above the columns.
    counts : int64 (rows, columns)

    Examples
    --------
    >>> count_notes(["Pop", "Rock"], np.array([[60, 22], [60, 22]]))
    ('n by column: Pop: 60, Rock: 22',)
    >>> count_notes(["Pop", "Rock"], np.array([[60, 60], [22, 22]]))
    ()
    """
    if counts.size == 0 or not (counts != counts[:, :1]).any():
        return ()
    if (counts == counts[:1]).all():
        told = (f"{head}: {count}" for head, count in zip(heads, counts[0].tolist(), strict=True))
        return (f"n by column: {', '.join(told)}",)
    return ("n: the fewest and the most of a row; --format csv or json says that of each figure",)


def unit_notes(metrics: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    """What is no plain ratio or number.

    Examples
    --------
    >>> unit_notes(["sdr", "sir"], ["dB", "dB"]), unit_notes(["seg", "deviation"], ["", "s"])
    (('values in dB',), ('in s: deviation',))
    """
    told: dict[str, list[str]] = {}
    for metric, unit in zip(metrics, units, strict=True):
        told.setdefault(unit, []).append(metric)
    if len(told) == 1 and any(told):
        return (f"values in {units[0]}",)
    return tuple(f"in {unit}: {', '.join(own)}" for unit, own in told.items() if unit)


def infinity_notes(value: Float, aggregates: Sequence[str]) -> tuple[str, ...]:
    """Why a figure is infinite.

    Parameters
    ----------
    value : float64
    aggregates : sequence of str

    Examples
    --------
    >>> infinity_notes(np.array([1.0, np.inf]), ["mean"])
    ('inf: some scores are infinite, and so is their mean; medians (aggregate: median) are moved little by a few',)
    """
    if not np.isinf(value).any():
        return ()
    if set(aggregates) == {"median"}:
        return ("inf: half of the scores or more are infinite",)
    hint = "medians (aggregate: median) are moved little by a few"
    return (f"inf: some scores are infinite, and so is their mean; {hint}",)


def reference_notes(attrs: Mapping[str, str]) -> tuple[str, ...]:
    """That stores which are asked as one do not have the same references."""
    said = attrs.get(REFERENCES_DIFFER, "")
    return (f"references: {said}",) if said else ()


NO_INTERVAL = "[-]"
"""Stands where so few units have no interval."""


def few_notes(value: Float, low: Float, attrs: Mapping[str, str]) -> tuple[str, ...]:
    """Why some figures have no interval.

    Parameters
    ----------
    value, low : float64
        Figures and the lower ends of their intervals.
    attrs : mapping of str to str
        What an answer says of its intervals.

    Examples
    --------
    >>> few_notes(np.array([0.5]), np.array([np.nan]), {"level": "0.95", "least_units": "6", "cluster": "artist"})
    ('[-]: no interval: at 95 % it takes 6 values of artist or more',)
    """
    if not (np.isnan(low) & np.isfinite(value)).any():
        return ()
    level, unit = float(attrs["level"]), attrs.get("unit") or attrs.get("unit_of_comparison", "track")
    drawn = attrs.get("cluster") or unit
    units = "tracks" if drawn == "track" else f"values of {drawn}"
    return (f"{NO_INTERVAL}: no interval: at {100 * level:g} % it takes {attrs['least_units']} {units} or more",)


def letters_note(found: Comparison | Friedman, metric: int) -> str:
    """What the letters of systems mean, as the end of a sentence; or why there are none."""
    alpha, tested = 1 - float(found.attrs["level"]), found.tested(metric)
    if not found.can_tell(metric):
        return f"no letters: so few units cannot give a corrected p-value below {alpha:.3g} ({tested})"
    return f"systems that share a letter are not told apart at {alpha:.3g} ({tested})"


def caution_notes(attrs: Mapping[str, str]) -> tuple[str, ...]:
    """What was warned of when the systems that are shown were scored; and that references differ.

    Examples
    --------
    >>> caution_notes({"warnings": "no item of system 'bob' occurs in the truth"})
    ("warning: no item of system 'bob' occurs in the truth",)
    """
    return (*reference_notes(attrs), *(f"warning: {said}" for said in attrs.get(WARNINGS, "").splitlines()))


def nothing_notes(attrs: Mapping[str, str], tracks: int) -> tuple[str, ...]:
    """Why there is no figure at all."""
    if tracks:
        return ()
    narrowed = [name for name in ("where", "annotator") if attrs.get(name)]
    return (f"no track is left{' by ' if narrowed else ''}{' and '.join(narrowed)}",)
