from __future__ import annotations

import numpy as np
import pytest

from mirflow.analysis.scores import as_scores
from mirflow.analysis.selection import CellProblem, count_scored, find_problems, group_problems
from mirflow.errors import shorten_quotes
from mirflow.reports.summaries import problem_lines, problems_table
from mirflow.store.cells import Status
from tests.groups import make_group


def problem(system: str, track: str, message: str, status: Status = Status.invalid) -> CellProblem:
    return CellProblem(system, track, status, "reason", "pair", message)


class TestKinds:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("est/KO1/a.lab:3: time is not a number: 'x'", "est/NG1/b.lab:17: time is not a number: 'x'"),
            ("a.lab: is empty", "b.lab: is empty"),
            ("reference a: is at 3.5 s, before 4.25 s", "reference b: is at 1 s, before 2 s"),
            ("a.lab:3: not a chord: 'H'; did you mean 'B'?", "b.lab:4: not a chord: 'K:maj'; did you mean 'C:maj'?"),
            ("system 'KO1' has no estimate of track 'a'", "system 'NG1' has no estimate of track 'b'"),
            ("est/a.lab:3: not a chord: 'H/3'", "est/b.lab:4: not a chord: 'H/3'"),
            ("refs.zarr [a]: is gone", "refs.zarr [b]: is gone"),
            ("genres.tsv:2 [a]: not a class here: 'jaz'", "genres.tsv:9 [b]: not a class here: 'jaz'"),
        ],
    )
    def test_other_names_are_no_other_reason(self, first, second):
        assert len(group_problems([problem("KO1", "a", first), problem("NG1", "b", second)])) == 1

    def test_other_values_are_no_other_reason_and_other_outcomes_are(self):
        message = "a.lab: time is not a number: "
        problems = [problem("S", "a", message + "'x/1'"), problem("S", "a", message + "'y'")]
        assert len(group_problems([*problems, problem("S", "a", message + "'y'", Status.failed)])) == 2

    def test_the_most_frequent_come_first_and_the_rest_is_counted(self):
        problems = [problem("S", f"t{n}", f"reason {'abcdefgh'[n]}") for n in range(8)] + [
            problem("S", "t9", "reason h")
        ]
        lines = problem_lines("chord", problems)
        assert lines[0] == "chord: 2 cells: invalid: reason h"
        assert lines[1] == "chord: 1 cell: invalid: reason a"
        assert lines[-1] == "chord: 3 more cells for 3 other reasons"
        assert len(lines) == 6

    def test_what_is_empty_comes_last_and_has_a_score(self):
        problems = [
            problem("S", "a", "est/a.lab: system 'S' has an empty estimate of track 'a'", Status.empty_estimate),
            problem("S", "b", "ref/b.lab: track 'b' has an empty reference", Status.empty_reference),
            problem("T", "a", "est/T/a.lab: system 'T' has an empty estimate of track 'a'", Status.empty_estimate),
            problem("S", "c", "ref/c.lab: a note has no velocity", Status.ok),
            problem("S", "d", "track 'd' has no reference", Status.missing_reference),
        ]
        assert problem_lines("chord", problems)[2:] == [
            "chord: 1 cell: empty_reference, with a score: ref/b.lab: track 'b' has an empty reference",
            "chord: 2 cells: empty_estimate, with a score: "
            "such as est/a.lab: system 'S' has an empty estimate of track 'a'",
        ]
        scored = [row[4] for row in problems_table("chord", problems).rows]
        assert scored == ["yes", "yes", "yes", "partly", "no"]
        assert count_scored(problems) == "2 of an empty estimate, 1 of an empty reference"

    def test_a_cell_without_a_score_is_listed_without_a_message_too(self):
        board = as_scores(make_group(np.zeros((1, 2, 1)), status=[[5, 8]]))
        assert [(one.status.name, one.kind, one.message) for one in find_problems(board)] == [
            ("empty_estimate", "reason", ""),
            ("failed", "reason", ""),
        ]


class TestShorten:
    def test_long_values_are_cut_and_nothing_else(self):
        path = "/folder" * 30
        text = shorten_quotes(f"{path}/a.lab:3: track 'x': not a chord: {'C' * 100!r}; it's written like 'C'")
        assert text == f"{path}/a.lab:3: track 'x': not a chord: '{'C' * 77}...'; it's written like 'C'"

    @pytest.mark.parametrize("value", ["it's " * 30, "a 'b' c " * 20, "C" * 80])
    def test_whatever_is_quoted(self, value):
        text = shorten_quotes(f"not a chord: {value!r}")
        assert text.startswith(f"not a chord: {value!r}"[:60])
        assert len(text) <= max(len("not a chord: ") + 82, 100)
