"""What was warned of when an evaluation was scored: how a store keeps it, and which of it concerns an answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..plan import Caution

WARNINGS = "warnings"
"""The attribute of an evaluation that keeps them, each with its ``text`` and its ``system``; of an answer those that
concern its systems, a line each."""


def kept_cautions(cautions: Iterable[Caution]) -> dict[str, list[dict[str, str]]]:
    """The attribute that keeps them; none where there is nothing, as in stores that know of none.

    Parameters
    ----------
    cautions : iterable of Caution
    """
    kept = [{"text": one.text, "system": one.system} for one in cautions]
    return {WARNINGS: kept} if kept else {}


def told_cautions(attrs: Mapping[str, Any], systems: Collection[str] | None = None) -> list[str]:
    """What was warned of, each once.

    Parameters
    ----------
    attrs : mapping
        Of an evaluation.
    systems : collection of str or None
        Only what concerns one of these, or everybody; None: all of it.

    Examples
    --------
    >>> attrs = {"warnings": [{"text": "no item of 'a' is true", "system": "a"}]}
    >>> told_cautions(attrs, ["a", "b"]), told_cautions(attrs, ["b"])
    (["no item of 'a' is true"], [])
    """
    kept = attrs.get(WARNINGS, ())
    return list(
        dict.fromkeys(one["text"] for one in kept if systems is None or one["system"] in systems or not one["system"])
    )


def labelled_cautions(attrs: Mapping[str, Any], store: str) -> dict[str, list[dict[str, str]]]:
    """The attribute where the name of the store stands before its systems."""
    kept = [{**one, "system": one["system"] and f"{store}/{one['system']}"} for one in attrs.get(WARNINGS, ())]
    return {WARNINGS: kept} if kept else {}


def joined_cautions(given: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """The attribute of several stores as one: those of each, after its name where not all of them say the same.

    Parameters
    ----------
    given : mapping of str to mapping
        Attributes of the evaluation, by store.
    """
    stores: dict[tuple[str, str], list[str]] = {}
    for store, attrs in given.items():
        for one in attrs.get(WARNINGS, ()):
            stores.setdefault((one["text"], one["system"]), []).append(store)
    kept = [
        {"text": text if len(own) == len(given) else f"{', '.join(own)}: {text}", "system": system}
        for (text, system), own in stores.items()
    ]
    return {WARNINGS: kept} if kept else {}
