"""What explains the scores of an evaluation: by which rules items are right or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ...annotations.annotation import Annotation
from ...errors import MirflowError
from ...metrics.base import Convention, Measure
from ...ragged import Column
from .encoding import Encoded, encode_evidence


@dataclass
class Judge:
    """What explains the scores of an evaluation."""

    convention: Convention
    kind: str
    asked: Sequence[str]
    others: Sequence[str]
    verdicts: dict[str, int]
    measures: list[Measure] = field(default_factory=list)

    def explain(self, reference: Annotation, estimates: Sequence[Annotation]) -> list[list[Encoded | None]]:
        """For each estimate the evidence under each rule; none where a pair cannot be scored."""
        for estimate in () if self.measures else estimates:
            self._settle(reference, estimate)
        by_rule = [self._evidence(reference, estimates, measure) for measure in self.measures]
        return [[found[place] for found in by_rule] for place in range(len(estimates))]

    def _settle(self, reference: Annotation, estimate: Annotation) -> None:
        """Which rules judge, found out on the first pair that any of them explains."""
        if self.measures:
            return
        able = (rule for rule in self.others if self._judges(rule, reference, estimate))
        chosen = [rule for rule in self.asked if self._judges(rule, reference, estimate)] or [*islice(able, 1)]
        self.measures = list(self.convention.select(chosen)) if chosen else []

    def _judges(self, rule: str, reference: Annotation, estimate: Annotation) -> bool:
        """Whether a rule tells right from wrong, item by item."""
        (found,) = self._evidence(reference, [estimate], *self.convention.select([rule]))
        return found is not None and ("x" in found or bool(found.get("v")))

    def _evidence(
        self, reference: Annotation, estimates: Sequence[Annotation], measure: Measure
    ) -> list[Encoded | None]:
        found = _explain(self.convention, reference, estimates, measure)
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
