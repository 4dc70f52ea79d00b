from __future__ import annotations

import pytest

from mirflow.analysis.problems import CellProblem, group_problems
from mirflow.report.messages import shorten
from mirflow.report.problems import problem_lines
from mirflow.status import Status


def problem(system: str, track: str, message: str, status: Status = Status.invalid) -> CellProblem:
    return CellProblem(system, track, status, message)


class TestKinds:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("est/KO1/a.lab:3: time is not a number: 'x'", "est/NG1/b.lab:17: time is not a number: 'x'"),
            ("a.lab: is empty", "b.lab: is empty"),
            ("system 'KO1' has no estimate of track 'a'", "system 'NG1' has no estimate of track 'b'"),
            ("est/a.lab:3: not a chord: 'H/3'", "est/b.lab:4: not a chord: 'H/3'"),
            ("refs.zarr [a]: is gone", "refs.zarr [b]: is gone"),
            ("genres.tsv:2 [a]: not a class here: 'jaz'", "genres.tsv:9 [b]: not a class here: 'jaz'"),
        ],
    )
    def test_other_names_are_no_other_reason(self, first, second):
        assert len(group_problems([problem("KO1", "a", first), problem("NG1", "b", second)])) == 1

    def test_other_values_and_other_outcomes_are(self):
        said = "a.lab: time is not a number: "
        problems = [problem("S", "a", said + "'x/1'"), problem("S", "a", said + "'y'")]
        assert len(group_problems([*problems, problem("S", "a", said + "'y'", Status.failed)])) == 3

    def test_the_most_frequent_come_first_and_the_rest_is_counted(self):
        problems = [problem("S", f"t{n}", f"reason {'abcdefgh'[n]}") for n in range(8)] + [
            problem("S", "t9", "reason h")
        ]
        lines = problem_lines("chord", problems)
        assert lines[0] == "chord: 2 cells: invalid: reason h"
        assert lines[1] == "chord: 1 cell: invalid: reason a"
        assert lines[-1] == "chord: 3 more cells for 3 other reasons"
        assert len(lines) == 6


class TestShorten:
    def test_long_values_are_cut_and_nothing_else(self):
        path = "/folder" * 30
        text = shorten(f"{path}/a.lab:3: track 'x': not a chord: {'C' * 100!r}; it's written like 'C'")
        assert text == f"{path}/a.lab:3: track 'x': not a chord: '{'C' * 77}...'; it's written like 'C'"

    @pytest.mark.parametrize("value", ["it's " * 30, "a 'b' c " * 20, "C" * 80])
    def test_whatever_is_quoted(self, value):
        text = shorten(f"not a chord: {value!r}")
        assert text.startswith(f"not a chord: {value!r}"[:60])
        assert len(text) <= max(len("not a chord: ") + 82, 100)
