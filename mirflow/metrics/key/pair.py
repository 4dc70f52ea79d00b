"""mir_eval's functions for one pair of keys: its narrow syntax, then the kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

from ...theory.keys import Key, parse_key, relation_table
from ..base.arguments import refuse_unknown
from .scoring import weigh

_TONICS = "c c# db d d# eb e f f# gb g g# ab a a# bb b"
KEY_TO_SEMITONE: dict[str, int | None] = {
    **{name: key.tonic for name in _TONICS.split() if (key := parse_key(name)) is not None},
    "x": None,
}
"""The tonics of mir_eval's syntax in lower case, as semitones above C; ``x`` is a key that cannot be named."""
_MODES = ("major", "minor", "other")

POINTS = MappingProxyType({"fifth": 0.5, "relative": 0.3, "parallel": 0.2})
"""What MIREX gives for a key that is nearly right."""


def validate_key(key: str) -> None:
    """Check a key in mir_eval's syntax.

    Parameters
    ----------
    key : str
        A tonic of `KEY_TO_SEMITONE` in any case, a blank, and ``major``, ``minor`` or ``other``; or ``X``.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> validate_key("Bb minor")
    """
    parts = key.split()
    if len(parts) != 2 and key.lower() != "x":
        raise ValueError(f"'{key}' is not in the form '(key) (mode)' or 'X'")
    if len(parts) != 2:
        return
    tonic, mode = parts
    if tonic.lower() == "x":
        raise ValueError(f"Mode {mode} is invalid; 'X' (Uncategorized) doesn't have mode")
    if tonic.lower() not in KEY_TO_SEMITONE:
        raise ValueError(f"Key {tonic} is invalid; should be e.g. D or C# or Eb or X (Uncategorized)")
    if mode not in _MODES:
        raise ValueError(f"Mode '{mode}' is invalid; must be 'major', 'minor' or 'other'")


def validate(reference_key: str, estimated_key: str) -> None:
    """Check both keys of a pair.

    Raises
    ------
    ValueError
        For a key that `validate_key` refuses.
    """
    for key in (reference_key, estimated_key):
        validate_key(key)


def split_key_string(key: str) -> tuple[int | None, str | None]:
    """The tonic and the mode of a key.

    Parameters
    ----------
    key : str
        In mir_eval's syntax.

    Returns
    -------
    tonic : int or None
        Semitones above C; None for ``X``.
    mode : str or None

    Examples
    --------
    >>> split_key_string("Eb major")
    (3, 'major')
    """
    if key.lower() == "x":
        return None, None
    tonic, mode = key.split()
    return KEY_TO_SEMITONE[tonic.lower()], mode


def weighted_score(reference_key: str, estimated_key: str, allow_descending_fifths: bool = False) -> float:
    """Points for how near an estimated key is.

    Parameters
    ----------
    reference_key, estimated_key : str
        In mir_eval's syntax.
    allow_descending_fifths : bool
        Whether a key a fifth below the reference counts like one a fifth above, as in MIREX since 2017.

    Returns
    -------
    float
        1 for the same key, 0.5 for a fifth, 0.3 for the relative key, 0.2 for the parallel key, 0 for any other.

    Raises
    ------
    ValueError
        For a key that `validate_key` refuses.

    Examples
    --------
    >>> weighted_score("C major", "F major"), weighted_score("C major", "F major", allow_descending_fifths=True)
    (0.0, 0.5)
    """
    validate(reference_key, estimated_key)
    relation = relation_table()[_named(reference_key).code, _named(estimated_key).code]
    return float(weigh(relation, descending=allow_descending_fifths, **POINTS))


def _named(label: str) -> Key:
    key = parse_key(label)
    assert key is not None  # mir_eval's syntax is part of ours
    return key


def evaluate(
    reference_key: str, estimated_key: str, allow_descending_fifths: bool = False, **kwargs: Any
) -> OrderedDict[str, float]:
    """The weighted score of one estimate.

    Parameters
    ----------
    reference_key, estimated_key, allow_descending_fifths
        See `weighted_score`.
    **kwargs
        There are none; they are only named to say so.

    Returns
    -------
    OrderedDict of str to float

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `weighted_score`.

    Examples
    --------
    >>> evaluate("C major", "A minor")["Weighted Score"]
    0.3
    """
    refuse_unknown("evaluate", kwargs, ("reference_key", "estimated_key", "allow_descending_fifths"))
    return OrderedDict({"Weighted Score": weighted_score(reference_key, estimated_key, allow_descending_fifths)})
