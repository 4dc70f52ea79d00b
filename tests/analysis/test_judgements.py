"""Agreement of graders, fine within broad judgements, and the feasibility equation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.cbook import boxplot_stats
from scipy.stats import norm, ttest_rel
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from mirflow.analysis.judgements import Workload, fine_within_broad, grader_agreement, grading_effort
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import Collection, collect
from mirflow.errors import AnnotationError, MetricError

from ..commands import invoke

BROAD = np.array(["NS", "SS", "VS"])


def random_judgements(
    seed: int, queries: int = 8, candidates: int = 15, graders: int = 3
) -> tuple[Collection, np.ndarray]:
    """Judgements of all candidates by all graders, and their levels (pairs, graders)."""
    rng = np.random.default_rng(seed)
    level = np.clip(
        rng.integers(0, 3, (queries, candidates, 1)) + rng.integers(-1, 2, (queries, candidates, graders)), 0, 2
    )
    fine = np.round(np.clip(4 * level + rng.normal(1, 2, level.shape), 0, 10), 1)
    names = np.repeat([f"c{number}" for number in range(candidates)], graders).tolist()
    who = np.tile([f"g{number}" for number in range(graders)], candidates)
    annotations = {
        f"q{query}": Annotation(
            "judgements", {"grader": who, "broad": BROAD[level[query].ravel()], "value": fine[query].ravel()}, names
        )
        for query in range(queries)
    }
    return collect(annotations), level.reshape(-1, graders)


class TestAgreement:
    @pytest.mark.parametrize("seed", range(5))
    def test_both_schemes_equal_statsmodels(self, seed: int) -> None:
        judgements, level = random_judgements(seed)
        found = grader_agreement(judgements)
        for scheme, levels in (("3-level", level), ("2-level", np.minimum(level, 1))):
            expected = fleiss_kappa(aggregate_raters(levels)[0])
            assert abs(found.kappa.sel(scheme=scheme).item() - expected) < 1e-12
        assert found.graded.values.tolist() == [120, 120]
        assert (found.attrs["least_graders"], found.attrs["most_graders"]) == (3, 3)
        unanimous = (level == level[:, :1]).all(axis=1).mean()
        scattered = (np.sort(level, axis=1) == [0, 1, 2]).all(axis=1).mean()
        assert found.unanimous.sel(scheme="3-level").item() == pytest.approx(unanimous)
        assert found.scattered.values.tolist() == pytest.approx([scattered, 0.0])

    def test_a_grader_who_judged_twice_is_named_with_the_query(self) -> None:
        columns = {"grader": np.array(["g1", "g1"]), "broad": np.array(["NS", "VS"])}
        with pytest.raises(AnnotationError, match="query 'q7': grader 'g1' judged 'a' twice"):
            grader_agreement(collect({"q7": Annotation("judgements", columns, ["a", "a"])}))

    def test_without_broad_judgements(self) -> None:
        with pytest.raises(AnnotationError, match="the judgements have no broad category"):
            grader_agreement(collect({"q": Annotation("judgements", {"value": np.array([1.0])}, ["a"])}))

    def test_of_something_else(self) -> None:
        with pytest.raises(AnnotationError, match="needs judgements of candidates, not events"):
            grader_agreement(collect({"q": Annotation("events", {"time": np.array([1.0])})}))


class TestFineWithinBroad:
    def test_equals_matplotlibs_box_plots(self) -> None:
        judgements, _ = random_judgements(1)
        found = fine_within_broad(judgements)
        broad, fine = judgements.rows.columns["broad"], judgements.rows.columns["value"]
        for name in BROAD.tolist():
            (box,) = boxplot_stats(fine[broad == name])
            one = found.sel(broad=name)
            for ours, theirs in (("q1", "q1"), ("median", "med"), ("q3", "q3"), ("mean", "mean")):
                assert one[ours].item() == pytest.approx(box[theirs], rel=1e-12)
            assert (one.whisker_low.item(), one.whisker_high.item()) == (box["whislo"], box["whishi"])
            assert one.outliers.item() == len(box["fliers"])
            assert one.n.item() == (broad == name).sum()

    def test_a_category_that_nobody_chose(self) -> None:
        columns = {"broad": np.array(["NS"]), "value": np.array([1.0])}
        found = fine_within_broad(collect({"q": Annotation("judgements", columns, ["a"])}))
        assert found.n.values.tolist() == [1, 0, 0]
        assert np.isnan(found["median"].sel(broad="VS").item())

    def test_without_any(self) -> None:
        with pytest.raises(AnnotationError, match="both a broad and a fine part"):
            fine_within_broad(collect({"q": Annotation("judgements", {"broad": np.array(["NS"])}, ["a"])}))


class TestWorkload:
    """Table 5 of the chapter, with a minute for each judgement."""

    @pytest.mark.parametrize(
        ("algorithms", "queries", "candidates", "graders", "each", "minutes"),
        [(7, 17, 10, 20, 3, 178.5), (6, 60, 5, 24, 3, 225.0), (12, 100, 5, 20, 1, 300.0)],
    )
    def test_equation_15(
        self, algorithms: int, queries: int, candidates: int, graders: int, each: int, minutes: float
    ) -> None:
        work = Workload(algorithms, queries, candidates, graders, graders_per_pair=each)
        assert work.minutes_per_grader == minutes
        assert work.feasible == (minutes <= 240)

    def test_what_would_be_possible_is_the_most_that_is_feasible(self) -> None:
        work = Workload(6, 60, 5, 24, minutes=0.7, graders_per_pair=3)
        for factor in ("algorithms", "queries", "candidates", "graders_per_pair"):
            most = work.most(factor)
            settings = {name: getattr(work, name) for name, field in work.__dataclass_fields__.items() if field.init}
            assert Workload(**{**settings, factor: most}).feasible
            assert not Workload(**{**settings, factor: most + 1}).feasible
        assert Workload(6, 60, 5, work.least_graders, 0.7, 3).feasible
        assert not Workload(6, 60, 5, work.least_graders - 1, 0.7, 3).feasible

    @pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
    def test_factors_that_cannot_be(self, value: float) -> None:
        with pytest.raises(MetricError, match="queries must be a number above 0"):
            Workload(1, value, 1, 1)
        with pytest.raises(MetricError, match="'graders' is not counted up"):
            Workload(1, 1, 1, 1).most("graders")

    @pytest.mark.parametrize("factors", [(1e300, 1e300, 1, 1), (1e-300, 1e-300, 1, 1), (1e-300, 1, 1, 1e300)])
    def test_products_beyond_all_numbers(self, factors: tuple[float, float, float, float]) -> None:
        with pytest.raises(MetricError, match="too large or too small to be multiplied"):
            Workload(*factors)
        with pytest.raises(MetricError, match="too large or too small to be multiplied"):
            Workload(1e200, 1, 1, 1, limit=1e-200)

    def test_somebody_has_to_judge(self) -> None:
        assert Workload(1e-12, 1, 1, 1).least_graders == 1


class TestCommands:
    GRADES = "query,candidate,grader,broad,fine\nq,a,g1,VS,9\nq,a,g2,VS,8\nq,b,g1,NS,1\nq,b,g2,SS,4\n"

    def test_graders(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text(self.GRADES)
        shown = invoke("grading", "agreement", path, code=0)
        # 3-level: P = 1/2, Pe = (1 + 1 + 4) / 16; 2-level: P = 1/2, Pe = (1 + 9) / 16.
        assert [line.split()[:2] for line in shown.output.splitlines() if "-level" in line] == [
            ["3-level", "0.2000"],
            ["2-level", "-0.3333"],
        ]
        assert "fine judgements within broad categories" in shown.output

    def test_graders_by_other_measures(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text(self.GRADES)
        found = json.loads(invoke("grading", "agreement", path, "--level", "0.9", "--format", "json", code=0).stdout)
        measures = {row["measure"]: row for row in found if row["measure"] is not None}
        # Two graders of a (9 and 8) and b (1 and 4), in exact arithmetic.
        assert measures["icc1"]["value"] == pytest.approx((36 - 2.5) / (36 + 2.5))
        # Of VS VS and NS SS: linear disagreement 1/2, expected (1 * 2 + 1 * 1 + 1 * 0 + 1 * 1) / 4.
        assert measures["weighted_kappa"]["value"] == pytest.approx(0.5)
        assert measures["icc1"]["low"] is None  # a single query

    def test_a_file_with_fine_judgements_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text("query,candidate,grader,fine\nq,a,g1,9\nq,a,g2,8\nq,b,g1,1\nq,b,g2,4\n")
        shown = invoke("grading", "agreement", path, code=0).stdout
        assert "icc1" in shown
        assert "weighted_kappa" not in shown

    def test_a_file_without_fine_judgements_has_one_table(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text("query,candidate,grader,broad\nq,a,g1,VS\nq,a,g2,VS\nq,b,g1,NS\n")
        shown = invoke("grading", "agreement", path, code=0)
        assert "graders per pair of query and candidate: 1-2" in shown.output
        assert "fine judgements" not in shown.output

    def test_a_grader_who_judged_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text(self.GRADES + "q,a,g1,SS,5\n")
        failed = invoke("grading", "agreement", path, code=2)
        assert f"{path}:6: query 'q': grader 'g1' judged 'a' twice" in failed.output
        with pytest.raises(AnnotationError, match=r"grades\.csv:6: query 'q': grader 'g1'"):
            grader_agreement(path)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("q,c,g1,XS,5", "query 'q': not a broad category: 'XS'; known: NS, SS, VS"),
            ("q,c,g1,VS,high", "value is not a number: 'high'"),
            (",c,g1,VS,5", "the row has no track; key columns are track, system, annotator"),
        ],
    )
    def test_what_is_wrong_with_a_row_is_reported_with_its_line(self, tmp_path: Path, row: str, message: str) -> None:
        path = tmp_path / "grades.csv"
        path.write_text(f"# asked in May\n{self.GRADES}{row}\n")
        failed = invoke("grading", "agreement", path, code=2)
        assert f"error: {path}:7: {message}" in failed.output

    def test_a_file_without_rows(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text("query,candidate,grader,broad,fine\n")
        failed = invoke("grading", "agreement", path, code=2)
        assert "grades.csv: has no rows with a track" in failed.output

    def test_workload(self) -> None:
        shown = invoke("grading", "workload", "-A", "12", "-Q", "100", "-C", "5", "-G", "20", "--format", "csv", code=0)
        rows = dict(line.split(",") for line in shown.output.splitlines())
        assert (rows["minutes_per_grader"], rows["feasible"], rows["fewest graders"]) == ("300", "no", "25")
        assert rows["most queries"] == "80"

    def test_a_large_workload_is_written_out(self) -> None:
        shown = invoke("grading", "workload", "-A", "1234567", "-Q", "60", "-C", "5", "-G", "24")
        assert "370370100" in shown.output


CANDIDATE, GRADER, RESIDUAL = 1.2, 0.6, 0.9
"""Standard deviations of simulated judgements of a query."""


def simulated(queries: int, candidates: int, graders: int, rng: np.random.Generator) -> tuple[Collection, np.ndarray]:
    """Judgements of all candidates by all graders (queries, candidates, graders)."""
    shape = queries, candidates, graders
    fine = rng.normal(5, 1, (queries, 1, 1)) + rng.normal(0, CANDIDATE, (queries, candidates, 1))
    fine = fine + rng.normal(0, GRADER, (1, 1, graders)) + rng.normal(0, RESIDUAL, shape)
    names = np.repeat([f"c{number}" for number in range(candidates)], graders).tolist()
    who = np.tile([f"g{number}" for number in range(graders)], candidates)
    broad = np.full(candidates * graders, "SS")
    own = ({"grader": who, "broad": broad, "value": fine[query].ravel()} for query in range(queries))
    return collect({f"q{query}": Annotation("judgements", one, names) for query, one in enumerate(own)}), fine


class TestEffort:
    def test_variances_are_the_means_of_analyses_of_variance_of_each_query(self) -> None:
        judgements, fine = simulated(6, 5, 3, np.random.default_rng(1))
        found = grading_effort(judgements, 1.0)
        expected = []
        for table in fine:
            n, k, mean = *table.shape, table.mean()
            rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
            residual = ((table - rows - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
            by_candidate, by_grader = k * rows.var(ddof=1), n * columns.var(ddof=1)
            expected.append([(by_candidate - residual) / k, (by_grader - residual) / n, residual])
        parts = [found.attrs[name] for name in ("candidate", "grader", "residual")]
        assert parts == pytest.approx(np.mean(expected, axis=0).tolist(), abs=1e-9)

    def test_more_graders_of_a_pair_take_fewer_queries_and_all_have_the_time(self) -> None:
        judgements, _ = simulated(30, 6, 4, np.random.default_rng(2))
        found = grading_effort(judgements, 0.4, graders_per_pair=4, algorithms=6, candidates=5)
        assert (np.diff(found.queries.values) < 0).all()
        for place, each in enumerate((1, 2, 3, 4)):
            work = Workload(6, found.queries.values[place].item(), 5, found.graders.values[place].item(), 1, each)
            assert work.feasible
            assert work.judgements == found.judgements.values[place]
            assert work.least_graders == found.graders.values[place]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ({"difference": 0.0}, "difference must be a number above 0"),
            ({"difference": 1.0, "algorithms": 1}, "algorithms must be 2 or more"),
            ({"difference": 1.0, "power": 1.0}, "power must be between 0 and 1"),
        ],
    )
    def test_factors_are_checked(self, words: dict[str, float], message: str) -> None:
        with pytest.raises(MetricError, match=message):
            grading_effort(simulated(3, 3, 2, np.random.default_rng(3))[0], **words)  # type: ignore[arg-type]

    @pytest.mark.parametrize("shape", [(4, 3, 1), (4, 1, 3)])
    def test_it_needs_candidates_and_graders(self, shape: tuple[int, int, int]) -> None:
        with pytest.raises(AnnotationError, match="several candidates of a query by two graders"):
            grading_effort(simulated(*shape, np.random.default_rng(4))[0], 1.0)

    def test_the_command_prints_a_row_for_each_number_of_graders(self, tmp_path: Path) -> None:
        rows = ["query,candidate,grader,broad,fine"]
        _, fine = simulated(5, 3, 2, np.random.default_rng(5))
        rows += [f"q{q},c{c},g{g},SS,{fine[q, c, g]:.3f}" for q, c, g in np.ndindex(fine.shape)]
        (tmp_path / "judgements.csv").write_text("\n".join(rows))
        words = ("grading", "effort", tmp_path / "judgements.csv", "--difference", "0.5", "-P", "2", "--format", "json")
        printed = json.loads(invoke(*words).stdout)
        assert [row["graders_per_pair"] for row in printed] == [1, 2]
        assert printed[0]["queries"] > printed[1]["queries"] > 0

    @pytest.mark.slow
    @pytest.mark.parametrize("each", [1, 3])
    def test_planned_campaigns_find_the_difference_as_often_as_planned(self, each: int) -> None:
        rng, difference, candidates = np.random.default_rng(6), 0.25, 5
        pilots = [grading_effort(simulated(60, 8, 8, rng)[0], difference, candidates=candidates) for _ in range(25)]
        needed = np.mean([one.queries.sel(graders_per_pair=each).item() for one in pilots])
        variance = 2 * (CANDIDATE**2 + (GRADER**2 + RESIDUAL**2) / each) / candidates
        expected = (1.959964 + 0.841621) ** 2 * variance / difference**2
        assert needed == pytest.approx(expected, rel=0.1)
        queries, cases = round(needed), 1000
        noise = rng.normal(0, CANDIDATE, (cases, queries, 2, candidates))
        noise += rng.normal(0, np.sqrt((GRADER**2 + RESIDUAL**2) / each), noise.shape)
        means = noise.mean(axis=3)
        p = ttest_rel(means[..., 0] + difference, means[..., 1], axis=1).pvalue
        assert (p < 0.05).mean() == pytest.approx(0.8, rel=0.1)

    def test_queries_are_those_of_the_normal_approximation(self) -> None:
        judgements, _ = simulated(30, 6, 4, np.random.default_rng(2))
        found = grading_effort(judgements, 0.4, graders_per_pair=3, algorithms=4, candidates=5, power=0.9)
        candidate, noise = found.attrs["candidate"], found.attrs["grader"] + found.attrs["residual"]
        z = norm.ppf(1 - 0.05 / 12) + norm.ppf(0.9)  # of six pairs, two-sided
        for graders, queries in zip((1, 2, 3), found.queries.values, strict=True):
            variance = 2 * (candidate + noise / graders) / 5
            assert queries == pytest.approx(variance * (z / 0.4) ** 2, rel=0.08)
