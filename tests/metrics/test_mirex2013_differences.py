"""The table of differences between convention mirex2013 and mir_eval in docs/mirex2013.md says what both do."""

from __future__ import annotations

import re
from pathlib import Path

import mir_eval
import numpy as np
import pytest

from mirflow.metrics.chord.mirex2013 import CONVENTION
from tests.metrics.chord_rows import rows, span

RULES = ("majmin", "majmin_inv", "sevenths", "sevenths_inv")
DOCUMENT = Path(__file__).parents[2] / "docs" / "mirex2013.md"
_VERDICTS = r"([RW-](?: [RW-]){3})"
ROWS = re.findall(rf"^\| `(\S+)` +\| `(\S+)` +\| {_VERDICTS} +\| {_VERDICTS} +\|$", DOCUMENT.read_text(), re.M)


def test_the_table_is_there() -> None:
    assert len(ROWS) == 14


@pytest.mark.parametrize(("reference", "estimate", "ours", "theirs"), ROWS)
def test_a_row_of_the_table(reference: str, estimate: str, ours: str, theirs: str) -> None:
    one = np.zeros(1, dtype=np.int64)
    found = CONVENTION.score(rows(span(reference)), rows(span(estimate)), one, one, CONVENTION.select(RULES), "union")
    pairs = zip(found.score[0], found.weight[0], strict=True)
    verdicts = ["WR"[int(score)] if weight else "-" for score, weight in pairs]
    assert " ".join(verdicts) == ours
    compared = (float(getattr(mir_eval.chord, rule)([reference], [estimate])[0]) for rule in RULES)
    assert " ".join({1.0: "R", 0.0: "W", -1.0: "-"}[score] for score in compared) == theirs
