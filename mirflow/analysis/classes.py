"""The classes or tags of an evaluation: how a store keeps them, and where those of several stores do not agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..annotations.classes import Classes

CLASSES = "classes"
"""The attribute of an evaluation that keeps them: ``names``, and ``credits`` as lists of the reference's class, the
estimate's class and what the error is worth; both empty where the pipeline names none."""
_DECIDED = ("tagging",)
"""Tasks in which each name is a decision on every track, so that scores depend on which there are."""


def kept_classes(classes: Classes | None) -> dict[str, dict[str, Any]]:
    """The attribute that keeps them.

    Parameters
    ----------
    classes : Classes or None
        None: the evaluation takes whatever occurs.

    Examples
    --------
    >>> kept_classes(Classes(("jazz", "blues"), (("jazz", "blues", 0.5),)))
    {'classes': {'names': ['jazz', 'blues'], 'credits': [['jazz', 'blues', 0.5]]}}
    """
    names, credits = ([], []) if classes is None else (list(classes.names), [list(one) for one in classes.credits])
    return {CLASSES: {"names": names, "credits": credits}}


def differing_classes(given: Mapping[str, Mapping[str, Any]]) -> str:
    """Why scores of several stores do not mean the same by their classes; empty: they do.

    A list of classes that differs is none: scores depend on which tags there are, and on what errors are worth. Stores
    that do not say which classes they have agree with all others.

    Parameters
    ----------
    given : mapping of str to mapping
        Attributes of the evaluation, by store.

    Examples
    --------
    >>> def attrs(credit):
    ...     return {"task": "classification", **kept_classes(Classes(("jazz", "pop"), (("jazz", "pop", credit),)))}
    >>> differing_classes({"a": attrs(0.5), "b": attrs(0.25)})
    "the credit for 'pop' where 'jazz' is right is 0.5 in a and 0.25 in b"
    >>> differing_classes({"a": attrs(0.5), "b": {"task": "classification"}})
    ''
    """
    known = {store: attrs[CLASSES] for store, attrs in given.items() if CLASSES in attrs}
    if not all(attrs.get("task") in _DECIDED for attrs in given.values()):
        # Without credits there is no metric that depends on them.
        known = {store: kept for store, kept in known.items() if kept["credits"]}
        differ = _other_credits
    else:
        differ = _other_names
    stores = list(known)
    return next(filter(None, (differ(known, stores[0], store) for store in stores[1:])), "")


def _other_names(known: Mapping[str, Mapping[str, Any]], a: str, b: str) -> str:
    one, other = known[a]["names"], known[b]["names"]
    if bool(one) != bool(other):
        has, lacks = (a, b) if one else (b, a)
        return f"the tags that there are are named in {has} and not in {lacks}"
    for here, there, has, lacks in ((one, other, a, b), (other, one, b, a)):
        only = next((name for name in here if name not in set(there)), None)
        if only is not None:
            return f"{only!r} is one of the tags that there are in {has} and none of those in {lacks}"
    return ""


def _other_credits(known: Mapping[str, Mapping[str, Any]], a: str, b: str) -> str:
    """The first error that is worth something else, of classes that both have."""
    shared = set(known[a]["names"]) & set(known[b]["names"])
    one, other = ({(told, guess): worth for told, guess, worth in known[store]["credits"]} for store in (a, b))
    for told, guess in {**one, **other}:
        here, there = one.get((told, guess), 0.0), other.get((told, guess), 0.0)
        if here != there and {told, guess} <= shared:
            return f"the credit for {guess!r} where {told!r} is right is {here:g} in {a} and {there:g} in {b}"
    return ""
