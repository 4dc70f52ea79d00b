"""Names of policies for missing and undefined scores, and of tests, with their descriptions; light to import."""

from __future__ import annotations

from collections.abc import Mapping

MISSING = {
    "raise": "none may be missing",
    "zero": "missing ones count as 0 with the weight of an empty estimate",
    "skip": "each system over the tracks that it has",
    "common": "only the tracks that every system has",
}
UNDEFINED = {
    "keep": "scores with nothing to measure count as they are",
    "skip": "scores with nothing to measure are left out",
}


def say_undefined(policy: str, valueless: str = "") -> str:
    """Describe the treatment of undefined scores, of which some or all may be NaN.

    Parameters
    ----------
    policy : {"keep", "skip"}
    valueless : {"", "some", "all"}
        Which of them are NaN: these never count.

    Examples
    --------
    >>> say_undefined("keep", "some")
    'scores with nothing to measure count as they are, without a value not at all'
    """
    if policy == "keep" and valueless == "all":
        return "scores with nothing to measure have no value and are left out"
    return UNDEFINED[policy] + (", without a value not at all" if policy == "keep" and valueless else "")


MAX_T = "max-t"
"""Simultaneous p-values by the largest statistic of all pairs."""
_SPOKEN = {
    "permutation": "permutation test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "t": "paired t-test",
    MAX_T: "max-T",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "none": "uncorrected",
}


def say_test(test: str, correction: str) -> str:
    """Name a test and its correction.

    Examples
    --------
    >>> say_test("permutation", "max-t")
    'permutation test, max-T'
    """
    return f"{_SPOKEN.get(test, test)}, {_SPOKEN.get(correction, correction)}"


def alpha_of(attrs: Mapping[str, str]) -> float:
    """Significance level of a confidence level, such as 0.05 for 0.95, without rounding errors."""
    return round(1 - float(attrs["level"]), 12)
