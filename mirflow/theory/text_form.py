"""The form in which texts are compared: names of tracks, systems, items, classes, tags and instruments, and labels."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def normal_form(text: str) -> str:
    """The form in which a name or label is compared: Unicode's NFC, without outer blanks, with single blanks inside.

    Case stays. A folder that was packed on a Mac has names in another Unicode form (NFD) than tables written elsewhere.

    Examples
    --------
    >>> normal_form("E\\u0301lectro"), normal_form(" hip \\u00a0hop ")
    ('Électro', 'hip hop')
    """
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def ungarbled(text: str) -> str:
    """The text whose UTF-8 was read in a Western encoding; any other text as it is.

    Examples
    --------
    >>> ungarbled("\u00c3\u2030lectro"), ungarbled("Électro")
    ('Électro', 'Électro')
    """
    for encoding in () if text.isascii() else ("latin-1", "cp1252"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return text


def are_normal(texts: Sequence[str]) -> bool:
    """True if all texts are in their normal form.

    Examples
    --------
    >>> are_normal(["verse 1", "É"]), are_normal(["verse  1"]), are_normal(["E\\u0301"])
    (True, False, False)
    """
    joined = "|".join(texts)
    if joined.isascii():
        if "".join(joined.split(None, 1)) == joined:  # labels mostly have no blanks
            return True
        words = joined.split()
        if len(words) < 2 or ("| " not in joined and " |" not in joined):
            return " ".join(words) == joined
    return all(text == normal_form(text) for text in texts)
