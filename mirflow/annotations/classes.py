"""Classes or tags, their hierarchy, and the credits of confusing them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from ..errors import AnnotationError
from ..ragged import Float
from ..theory.text_form import normal_form

Tree = Mapping[str, "Tree | Sequence[str] | None"]
"""Mapping of classes to their subclasses: names or subtrees."""
Credit = tuple[str, str, float]
"""The reference's class, the estimate's class, and the credit of the error: 0 to 1."""


@dataclass(frozen=True)
class Classes:
    """A set of classes or tags.

    Examples
    --------
    >>> genres = Classes.of(tree={"Jazz & Blues": ["Jazz", "Blues"], "Classical": None})
    >>> genres.names
    ('Jazz & Blues', 'Jazz', 'Blues', 'Classical')
    >>> Classes.of(tree={"KD": ["KD"], "SD": ["SD", "SDB"]}).names
    ('KD', 'SD', 'SDB')
    >>> genres.table[genres.names.index("Jazz")].tolist()
    [0.5, 1.0, 0.5, 0.0]
    """

    names: tuple[str, ...]
    """Distinct names."""
    credits: tuple[Credit, ...] = ()
    """Reference's class, estimate's class and credit of an error; other errors earn no credit."""
    parents: tuple[tuple[str, str], ...] = ()
    """Classes of a tree with their parents."""

    def __post_init__(self) -> None:
        if not self.names:
            raise AnnotationError("no classes")
        seen: set[str] = set()
        for name in self.names:
            if not name or name in seen:
                raise AnnotationError(f"the class {name!r} occurs twice" if name else "a class without a name")
            seen.add(name)
        seen_pairs: set[tuple[str, str]] = set()
        for reference, estimate, credit in self.credits:
            pair = f"the credit for {estimate!r} where {reference!r} is right"
            unknown = next((name for name in (reference, estimate) if name not in seen), None)
            if unknown is not None:
                raise AnnotationError(f"{pair}: unknown class {unknown!r}")
            if reference == estimate:
                raise AnnotationError(f"{pair}: this is not an error and earns 1")
            if not 0 <= credit <= 1:  # also refuses NaN
                raise AnnotationError(f"{pair} is not between 0 and 1: {credit}")
            if (reference, estimate) in seen_pairs:
                raise AnnotationError(f"{pair} occurs twice")
            seen_pairs.add((reference, estimate))

    @classmethod
    def of(
        cls,
        names: Sequence[str] = (),
        tree: Tree | None = None,
        credit: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Classes:
        """Make classes from names, a tree and a table of credits, all of which are optional.

        The tree maps classes to their subclasses. The credit of an error is the number of common levels of both classes
        over the levels of the deeper one. As in MIREX's genre hierarchy, it is 0.5 for siblings on the second level,
        and for a top class and its child. `credit` (reference's class -> estimate's class -> credit) overrides the
        tree's. Names are kept in the form in which labels are compared (`mirflow.theory.text_form.normal_form`).
        """
        names = [normal_form(name) for name in names]
        paths = dict(_paths(tree or {}, ()))
        table: dict[tuple[str, str], float] = {}
        for one, other in permutations(paths, 2):
            same = [here == there for here, there in zip(paths[one], paths[other], strict=False)]
            table[one, other] = [*same, False].index(False) / max(len(paths[one]), len(paths[other]))
        for reference, others in (credit or {}).items():
            table |= {(normal_form(reference), normal_form(other)): float(value) for other, value in others.items()}
        every = dict.fromkeys([*names, *paths, *(name for pair in table for name in pair)])
        if len(set(names)) < len(names):
            twice = next(name for index, name in enumerate(names) if name in names[:index])
            raise AnnotationError(f"the class {twice!r} occurs twice")
        parents = tuple((one, path[-2]) for one, path in paths.items() if len(path) > 1)
        return cls(tuple(every), tuple((*pair, value) for pair, value in table.items() if value), parents)

    @property
    def tops(self) -> Mapping[str, tuple[str, ...]]:
        """Classes at the top of the tree with all their descendants.

        Examples
        --------
        >>> Classes.of(tree={"kick": ["35", "36"], "snare": None}).tops
        {'kick': ('35', '36'), 'snare': ()}
        """
        above = dict(self.parents)
        found: dict[str, list[str]] = {name: [] for name in self.names if name not in above}
        for name in above:
            top = name
            while top in above:
                top = above[top]
            found[top].append(name)
        return {top: tuple(below) for top, below in found.items()}

    @cached_property
    def table(self) -> Float:
        """Credits of estimates: float64 (reference's class, estimate's class), 1 on the diagonal."""
        index = {name: number for number, name in enumerate(self.names)}
        worth = np.eye(len(self.names))
        for reference, estimate, credit in self.credits:
            worth[index[reference], index[estimate]] = credit
        return worth

    @property
    def digest(self) -> str:
        """Fingerprint of everything that scores depend on: names and credits, in any order."""
        lines = [*sorted(self.names), "", *sorted(f"{one}\t{other}\t{value!r}" for one, other, value in self.credits)]
        return hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def as_classes(given: Classes | Sequence[str] | None) -> Classes | None:
    """Convert classes given by users, which may be a sequence of names.

    Examples
    --------
    >>> as_classes(["rock", "pop"]).names
    ('rock', 'pop')
    """
    if given is None or isinstance(given, Classes):
        return given
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise AnnotationError(f"expected names of classes such as ['rock', 'pop'], or a Classes object, got {given!r}")
    return Classes.of(list(given))


def _paths(tree: Tree, above: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """List each class with its path, including itself."""
    listed: list[tuple[str, tuple[str, ...]]] = []
    for written, below in tree.items():
        name = normal_form(written)
        path = (*above, name)
        listed.append((name, path))
        subtree = below if isinstance(below, Mapping) else dict.fromkeys(below or ())
        # A class that is listed among its own members, as in {KD: [KD, KD2]}, is itself.
        listed += _paths({one: sub for one, sub in subtree.items() if normal_form(one) != name or sub}, path)
    names = [name for name, _ in listed]
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice is not None:
        raise AnnotationError(f"the class {twice!r} occurs twice in the tree")
    return listed
