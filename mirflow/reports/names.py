"""Names as pages and figures show them: without what all of them begin with, and without their middle."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 18
"""Characters of a name for which lanes and charts have room."""
_PREFIX = 6
"""Characters of a common beginning below which it stays."""


def cut(text: str, most: int = LONGEST) -> str:
    """A long text without its middle: names differ at their ends.

    Examples
    --------
    >>> cut("short", 9), cut("chord_mrx_09_000151", 9)
    ('short', 'chor…0151')
    """
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - (most - 1 - most // 2) :]}"


def short_names(names: Sequence[str], most: int = LONGEST) -> list[str]:
    """Names without their common beginning, each cut in the middle; no two become the same.

    Examples
    --------
    >>> short_names(["chord_mrx_09_000056", "chord_mrx_09_000151"])
    ['000056', '000151']
    >>> short_names(["oak", "elm"])
    ['oak', 'elm']
    """
    # The first and the last name in alphabetic order differ as early as any two.
    least, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    pairs = zip(least, last, strict=False)
    same = next((count for count, (left, right) in enumerate(pairs) if left != right), len(least))
    common = re.match(r"(?s).*[_\-./ ]", least[:same])
    start = common.end() if common and common.end() >= _PREFIX else 0
    bare = [name[start:] for name in names] if all(len(name) > start for name in names) else list(names)
    short = [cut(name, most) for name in bare]
    return short if len(set(short)) == len(set(names)) else bare
