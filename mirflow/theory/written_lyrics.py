"""Lyrics in the style of Jam-ALT: capitals at the beginning of lines, few punctuation marks at their ends."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("!?)\"'\u00b4\u00bb\u2018\u2019\u201c\u201d")
"""Marks that may end a line."""


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
    return "\n".join(map(_line, text.replace("\r\n", "\n").split("\n")))


def _line(line: str) -> str:
    size = len(line)
    while size > 1 and not (_is_word(line[size - 1]) or line[size - 1] in _KEPT):
        size -= 1
    text = line[:size]
    first = next((index for index, sign in enumerate(text) if _is_word(sign)), size)
    return text[:first] + text[first : first + 1].upper() + text[first + 1 :]


def _is_word(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LM" or unicodedata.category(sign) in ("Nd", "Nl", "Pc")
