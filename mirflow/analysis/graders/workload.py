"""How much an evaluation asks of its graders: equation 15 of the MIREX chapter."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

from ...errors import MetricError

LIMIT = 240.0
"""Minutes that a volunteer can be asked for."""
_DIGITS = 9
"""Whole numbers are found in spite of rounding."""


@dataclass(frozen=True)
class Workload:
    """An evaluation by graders, and whether it can be done: (A * Q * C * M * P) / G <= 240 minutes.

    Parameters
    ----------
    algorithms : float
        A: how many systems return candidates.
    queries : float
        Q
    candidates : float
        C: how many each system returns for a query.
    graders : float
        G: how many people judge.
    minutes : float
        M: how long a judgement of one pair takes.
    graders_per_pair : float
        P: how many people judge the same pair.
    limit : float
        Minutes that each of them can be asked for.

    Raises
    ------
    MetricError
        For a factor that is not a number above 0, and a product beyond all numbers.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equation 15. It counts every candidate of every system; what several systems return is judged only once, so that it
    is an upper bound: AMS in 2007 would have taken 300 minutes by it, and took 242 pairs a grader.

    Examples
    --------
    AMS in 2006: 6 systems, 60 queries, 5 candidates, 24 graders, 3 a pair.

    >>> ams = Workload(algorithms=6, queries=60, candidates=5, graders=24, graders_per_pair=3)
    >>> ams.minutes_per_grader, ams.feasible, ams.most("queries"), ams.least_graders
    (225.0, True, 64, 23)
    """

    algorithms: float
    queries: float
    candidates: float
    graders: float
    minutes: float = 1.0
    graders_per_pair: float = 1.0
    limit: float = LIMIT

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0):
                raise MetricError(f"{field.name} must be a number above 0, not {value!r}")
        most = self.limit * max(self.algorithms, self.queries, self.candidates, self.graders_per_pair)
        if not (0 < self.minutes_per_grader < math.inf and most / self.minutes_per_grader < math.inf):
            raise MetricError("the factors are too large or too small to be multiplied")

    @cached_property
    def judgements(self) -> float:
        """Judgements that are to be made, if no two systems return the same candidate."""
        return self.algorithms * self.queries * self.candidates * self.graders_per_pair

    @cached_property
    def minutes_per_grader(self) -> float:
        """The left side of the equation."""
        return self.judgements * self.minutes / self.graders

    @property
    def feasible(self) -> bool:
        """Whether it holds."""
        return self.minutes_per_grader <= self.limit

    @property
    def least_graders(self) -> int:
        """The fewest graders with whom it would hold."""
        return max(math.ceil(round(self.judgements * self.minutes / self.limit, _DIGITS)), 1)

    def most(self, factor: str) -> int:
        """The largest whole number of algorithms, queries, candidates or graders_per_pair for which it would hold.

        Parameters
        ----------
        factor : str
            Its name; the others stay as they are.

        Raises
        ------
        MetricError
            For another factor.
        """
        known = ("algorithms", "queries", "candidates", "graders_per_pair")
        if factor not in known:
            raise MetricError(f"{factor!r} is not counted up to the limit; known: {', '.join(known)}")
        given: float = getattr(self, factor)
        return math.floor(round(self.limit / self.minutes_per_grader * given, _DIGITS))
