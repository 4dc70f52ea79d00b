"""What explains the scores of an evaluation: by which rules items are right or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...annotations.annotation import Annotation
from ...errors import MirflowError
from ...metrics.base import Convention, Measure
from ...ragged import Column
from .encoding import Encoded, encode_evidence


@dataclass
class Judge:
    """What explains the scores of an evaluation.

    Parameters
    ----------
    conventions : sequence of Convention
        Those of its stores, whose classes may differ.
    kind : str
        Of the annotations.
    asked, others : sequence of str
        Metrics that shall judge, and those that are tried where none of them can.
    verdicts : dict of str to int
        It grows.
    rules : list of str
        The metrics that do judge.
    able : list of str
        All metrics that could, as far as the first pair shows it.
    """

    conventions: Sequence[Convention]
    kind: str
    asked: Sequence[str]
    others: Sequence[str]
    verdicts: dict[str, int]
    rules: list[str] = field(default_factory=list)
    able: list[str] = field(default_factory=list)

    def explain(
        self, reference: Annotation, estimates: Sequence[Annotation], convention: int = 0
    ) -> list[list[Encoded | None]]:
        """For each estimate the evidence under each rule of a convention; none where a pair cannot be scored."""
        chosen = self.conventions[convention]
        for estimate in () if self.rules else estimates:
            self._settle(reference, estimate, chosen)
        by_rule = [self._evidence(reference, estimates, chosen, rule) for rule in self.rules]
        return [[found[place] for found in by_rule] for place in range(len(estimates))]

    def _settle(self, reference: Annotation, estimate: Annotation, convention: Convention) -> None:
        """Which rules judge, found out on the first pair that any of them explains."""
        if self.rules:
            return
        every = dict.fromkeys([*self.asked, *self.others])
        self.able = [rule for rule in every if self._judges(rule, reference, estimate, convention)]
        asked = set(self.asked)
        self.rules = [rule for rule in self.able if rule in asked] or self.able[:1]

    def _judges(self, rule: str, reference: Annotation, estimate: Annotation, convention: Convention) -> bool:
        """Whether a rule tells right from wrong, item by item."""
        (found,) = self._evidence(reference, [estimate], convention, rule)
        return found is not None and ("x" in found or bool(found.get("v")))

    def _evidence(
        self, reference: Annotation, estimates: Sequence[Annotation], convention: Convention, rule: str
    ) -> list[Encoded | None]:
        (measure,) = convention.select([rule])
        found = _explain(convention, reference, estimates, measure)
        return [None if one is None else encode_evidence(one, self.kind, self.verdicts) for one in found]


def _explain(
    convention: Convention, reference: Annotation, estimates: Sequence[Annotation], measure: Measure
) -> list[Mapping[str, Column] | None]:
    """What explains the scores of several estimates; None for one that has none."""
    try:
        if convention.explain_many is not None:
            together = convention.explain_many(reference, estimates, measure)
            return [None if isinstance(one, MirflowError) else one for one in together]
    except MirflowError:
        return [None] * len(estimates)
    found: list[Mapping[str, Column] | None] = []
    for estimate in estimates:
        try:
            found.append(None if convention.explain is None else convention.explain(reference, estimate, measure))
        except MirflowError:
            found.append(None)
    return found
