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

AUTO, NORMAL, SEQUENCE = "auto", "normal", "sequence"
NORMAL_UNITS = 20_000
"""Units (clusters) from which on the intervals of means and weighted ratios are normal by default."""
METHODS = {
    "bca": "bias-corrected and accelerated (Efron 1987)",
    "percentile": "quantiles of the replicates",
    NORMAL: "by the delta method",
}
"""Methods of intervals; the first two are of bootstraps."""
INVERTED = "inverted"
"""Method of intervals that hold what a test does not exclude."""
ANYTIME = "anytime"
"""Attribute of results that hold at every look while tracks are added: the units at which intervals are narrowest."""


def say_intervals(attrs: Mapping[str, str], over: str = "") -> str:
    """Describe how intervals were computed.

    `attrs`: of a result with intervals: `method`, `replicates`, and perhaps `anytime`. `over`: what is drawn, if it is
    to be named.

    Examples
    --------
    >>> say_intervals({"method": "bca", "replicates": "10000"}, "tracks")
    'bootstrap over tracks (bca, 10000 replicates)'
    >>> say_intervals({"method": "normal, bca", "replicates": "10000"})
    'normal (delta method) from 20000 units on, else bootstrap, bca, 10000 replicates'
    """
    if attrs["method"] == SEQUENCE:
        return (
            "confidence sequence for all looks; if differences of units have a skewness of 2, in up to 8 % of the "
            f"cases not all of 1,000 hold; narrowest at n = {attrs[ANYTIME]}"
        )
    if attrs["method"] == INVERTED:
        if attrs["correction"] == MAX_T:
            return "what the corrected test does not exclude, all pairs together"
        return (
            "what the test does not exclude"
            if attrs["correction"] == "none"
            else "what the corrected test does not exclude"
        )
    normal, drawn = f"{NORMAL} (delta method)", attrs["method"].removeprefix(f"{NORMAL}, ")
    if drawn == NORMAL:
        return f"{normal} over {over}" if over else normal
    how = f"{drawn}, {attrs['replicates']} replicates"
    text = f"bootstrap over {over} ({how})" if over else f"bootstrap, {how}"
    return text if drawn == attrs["method"] else f"{normal} from {NORMAL_UNITS} units on, else {text}"


def say_undefined(policy: str, valueless: str = "") -> str:
    """Describe the treatment of undefined scores, of which some or all may be NaN.

    `policy` ({"keep", "skip"}), `valueless` ({"", "some", "all"}): which of them are NaN: these never count.

    Examples
    --------
    >>> say_undefined("keep", "some")
    'scores with nothing to measure count as they are, without a value not at all'
    """
    if policy == "keep" and valueless == "all":
        return "scores with nothing to measure have no value and are left out"
    return UNDEFINED[policy] + (", without a value not at all" if policy == "keep" and valueless else "")


MOST_SYSTEMS = 100
"""Systems up to which all pairs are compared by default."""
COMPARED_WITH = "compared_with"
"""The coordinate of metrics that names the system with which alone all others were compared; empty: all pairs were."""
MAX_T = "max-t"
"""Simultaneous p-values by the largest statistic of all pairs."""
_SPOKEN = {
    "permutation": "permutation test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "t": "paired t-test",
    SEQUENCE: "confidence sequence",
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
