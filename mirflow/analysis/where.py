"""Expressions over coordinates, such as ``genre == 'Rock' and year < 1980``: parsed and checked, never executed."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownNameError
from ..ragged import Bool

Column = npt.NDArray[Any]
_Comparison = Callable[[Any, Any], Any]

_COMPARISONS: MappingProxyType[type[ast.cmpop], _Comparison] = MappingProxyType(
    {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
    }
)
_SINGLE = re.compile(r"(?<![=!<>])=(?!=)")
LONGEST = 10_000
"""Characters of an expression; deeper nesting than these allow would exhaust the parser."""


def holds(expression: str, columns: Mapping[str, Column], count: int) -> Bool:
    """For which items an expression over their coordinates holds.

    Parameters
    ----------
    expression : str
        Names of coordinates, texts in quotes, numbers, ``True``, ``False``; ``==``, ``!=``, ``<``, ``<=``, ``>``,
        ``>=`` (also chained); ``in`` and ``not in`` a list, or a text in a coordinate (``'live' in title``); ``and``,
        ``or``, ``not``, parentheses. ``x is None`` and ``x is not None`` ask for what has no value; every comparison
        with it is false. A name that is no word is written ``col('opus number')``.
    columns : mapping of str to array (count,)
        Numbers and texts; NaN and the empty text stand for no value.
    count : int

    Returns
    -------
    bool (count,)

    Raises
    ------
    QueryError
        For anything else, and for a text compared with a number.
    UnknownNameError
        For a name that is not there, with a suggestion.

    Examples
    --------
    >>> tracks = {"genre": np.array(["Rock", "Pop", ""]), "year": np.array([1971.0, 1969.0, np.nan])}
    >>> holds("genre == 'Rock' and year < 1980", tracks, 3).tolist()
    [True, False, False]
    >>> holds("not 1970 <= year <= 1979 or genre in ['Rock']", tracks, 3).tolist()
    [True, True, True]
    """
    try:
        if len(expression) > LONGEST:
            raise QueryError(f"where: an expression has at most {LONGEST} characters, not {len(expression)}")
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, QueryError):
            raise
        hint = "equality is ==" if _SINGLE.search(expression) else "write it like genre == 'Rock' and year < 1980"
        raise QueryError(f"where: not an expression: {expression!r}; {hint}") from None
    try:
        return _Reader(expression, columns, count).truth(tree)
    except RecursionError:
        raise QueryError(f"where: nested too deeply: {expression[:40]!r}...") from None


class _Reader:
    """One expression, read over whole columns."""

    def __init__(self, expression: str, columns: Mapping[str, Column], count: int) -> None:
        self.expression, self.columns, self.count = expression, columns, count

    def truth(self, node: ast.expr) -> Bool:
        """Where a condition holds."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part) for part in node.values]
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(combine.reduce(parts))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.truth(node.operand)
        if isinstance(node, ast.Compare):
            found = np.ones(self.count, dtype=np.bool_)
            sides = [node.left, *node.comparators]
            for kind, left, right in zip(node.ops, sides, sides[1:], strict=False):
                found &= self.compare(kind, left, right)
            return found
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return np.full(self.count, node.value)
        if isinstance(node, ast.Name | ast.Call) and self.column(node).dtype.kind == "b":
            return self.column(node)
        raise self.wrong(node, "is no condition; compare it with something")

    def compare(self, kind: ast.cmpop, left: ast.expr, right: ast.expr) -> Bool:
        """Where one comparison holds; never where a side has no value."""
        if isinstance(kind, ast.Is | ast.IsNot):
            return self.is_none(left, right, isinstance(kind, ast.IsNot))
        if isinstance(kind, ast.In | ast.NotIn):
            found, told = self.within(left, right)
            return (~found if isinstance(kind, ast.NotIn) else found) & told
        one, other = self.value(left), self.value(right)
        self.check_kinds(one, other, left, right)
        return np.asarray(_COMPARISONS[type(kind)](one, other)) & ~_missing(one) & ~_missing(other)

    def is_none(self, left: ast.expr, right: ast.expr, negated: bool) -> Bool:
        """Where a coordinate has no value."""
        if not (isinstance(right, ast.Constant) and right.value is None):
            raise self.wrong(right, "stands after 'is', where only None can; write ==")
        absent = np.asarray(_missing(self.value(left))) & np.ones(self.count, dtype=np.bool_)
        return ~absent if negated else absent

    def within(self, left: ast.expr, right: ast.expr) -> tuple[Bool, Bool]:
        """Where a value is in a list, or a text in a text; and where both are there at all."""
        one = self.value(left)
        if isinstance(right, ast.List | ast.Tuple | ast.Set):
            found = np.zeros(self.count, dtype=np.bool_)
            for item in right.elts:
                other = self.value(item)
                self.check_kinds(one, other, left, item)
                found |= np.asarray(one == other)
            return found, ~_missing(one) & np.ones(self.count, dtype=np.bool_)
        other = self.value(right)
        if one.dtype.kind != "U" or other.dtype.kind != "U":
            raise self.wrong(right, "is no list and no text to look into; write like year in [1971, 1972]")
        return np.strings.find(other, one) >= 0, np.asarray(~_missing(one) & ~_missing(other))

    def value(self, node: ast.expr) -> Column:
        """A coordinate, or a constant as an array without dims."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
            return np.asarray(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            number = self.value(node.operand)
            if number.ndim == 0 and number.dtype.kind in "if":
                return np.asarray(-number if isinstance(node.op, ast.USub) else number)
        if isinstance(node, ast.Name | ast.Call):
            return self.column(node)
        raise self.wrong(node, "cannot stand here; there are names, texts, numbers, comparisons, and, or, not, in")

    def column(self, node: ast.Name | ast.Call) -> Column:
        """The coordinate of a name."""
        if isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node.func, ast.Name) and node.func.id == "col" and len(node.args) == 1 and not node.keywords:
            (argument,) = node.args
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise self.wrong(node, "needs a name in quotes")
            name = argument.value
        else:
            raise self.wrong(node, "is a call; the only one is col('a name')")
        if name not in self.columns:
            raise UnknownNameError("coordinate", name, self.columns)
        column = np.asarray(self.columns[name])
        return np.array([str(value) for value in column.tolist()], dtype=str) if column.dtype.kind in "OT" else column

    def check_kinds(self, one: Column, other: Column, left: ast.expr, right: ast.expr) -> None:
        """A text is never compared with a number, which numpy would call unequal in silence."""
        if (one.dtype.kind == "U") != (other.dtype.kind == "U"):
            text, number = (left, right) if one.dtype.kind == "U" else (right, left)
            raise self.wrong(text, f"is text, and {ast.unparse(number)} is a number: they cannot be compared")

    def wrong(self, node: ast.expr, what: str) -> QueryError:
        """An error about a part of the expression."""
        return QueryError(f"where {self.expression!r}: {ast.unparse(node)} {what}")


def _missing(values: Column) -> Bool:
    """What stands for no value."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    return np.asarray(
        values == "" if values.dtype.kind == "U" and values.ndim else np.zeros(values.shape, dtype=np.bool_)
    )
