"""The form in which names and labels are compared, texts in a wrong encoding, and the style of lyrics of Jam-ALT.

Names are those of tracks, systems, items, classes, tags and instruments.
"""

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
    """The text whose UTF-8 was read in a Western encoding; any other text as it is."""
    for encoding in () if text.isascii() else ("latin-1", "cp1252"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return text


def are_normal(texts: Sequence[str]) -> bool:
    """True if all texts are in their normal form."""
    joined = "|".join(texts)
    if joined.isascii():
        if "".join(joined.split(None, 1)) == joined:  # labels mostly have no blanks
            return True
        words = joined.split()
        if len(words) < 2 or ("| " not in joined and " |" not in joined):
            return " ".join(words) == joined
    return all(text == normal_form(text) for text in texts)


_KEPT = frozenset("!?)\"'\u00b4\u00bb\u2018\u2019\u201c\u201d")  # Marks that may end a line


def normalize_lyrics(text: str) -> str:
    """Convert lyrics to the style guide of Jam-ALT, which many systems do not follow.

    The first letter of each line is capitalised, and marks at the end of lines are removed, except exclamation and
    question marks, closing parentheses and quotes. Equal to ``normalize_lyrics`` of alt-eval 1.2.0, which applies it to
    estimates.

    Parameters
    ----------
    text : str
        Lines separated by ``\\\
``.

    Returns
    -------
    str
        Text with the same number of lines.

    Examples
    --------
    >>> normalize_lyrics("oh my love,\\n(wait for me...)\\ndon't go!")
    "Oh my love\\n(Wait for me...)\\nDon't go!"
    """
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        categories = [unicodedata.category(sign) for sign in line]
        in_word = [category[0] in "LM" or category in ("Nd", "Nl", "Pc") for category in categories]
        size = len(line)
        while size > 1 and not (in_word[size - 1] or line[size - 1] in _KEPT):
            size -= 1
        first = in_word.index(True) if any(in_word[:size]) else size
        lines.append(line[:first] + line[first:size][:1].upper() + line[first + 1 : size])
    return "\n".join(lines)
