"""Messages made fit to print; light to import, as the command line prints every error through it."""

from __future__ import annotations

import re

_LONGEST = 80
# A quote opens after a blank or a bracket and closes before one or before punctuation, so that apostrophes do neither.
_QUOTED = re.compile(r"""(?<![^\s(\[{=:])(['"])(?P<value>.*?)\1(?=[\s,;:.)\]}?!]|$)""", re.DOTALL)


def shorten(message: str) -> str:
    """A message whose long quoted values are cut.

    Parameters
    ----------
    message : str

    Examples
    --------
    >>> len(shorten(f"not a chord: {'C' * 500!r}")) < 100
    True
    >>> shorten("track 'a': not a chord: 'H:maj'")
    "track 'a': not a chord: 'H:maj'"
    """
    return _QUOTED.sub(_cut, message)


def _cut(found: re.Match[str]) -> str:
    quote, value = found[1], found["value"]
    return found[0] if len(value) <= _LONGEST else f"{quote}{value[: _LONGEST - 3]}...{quote}"
