"""Who takes part: neither the reference, nor systems that the file does not list."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from mirflow.errors import MirflowWarning, PipelineError
from mirflow.pipeline import plan_evaluation

from .test_load import make, plan, problems_of


class TestWhoTakesPart:
    def write(self, root: Path, **files: str) -> None:
        for name, text in files.items():
            (root / f"{name}.txt").write_text(text)

    GENRES: ClassVar[dict[str, Any]] = {"task": "classification", "reference": "gt.txt", "estimates": "{system}.txt"}

    def test_a_table_that_is_the_reference_is_no_system(self, tmp_path: Path) -> None:
        self.write(tmp_path, gt="a\tjazz\n", S1="a\tjazz\n")
        with pytest.warns(
            MirflowWarning, match=r"classification: 'gt' is not scored as a system: 'gt\.txt' is the ref"
        ):
            assert plan_evaluation(self.GENRES, tmp_path).systems == ("S1",)
        with pytest.warns(MirflowWarning, match="'gt' is not scored"):
            assert plan_evaluation({**self.GENRES, "reference": "./gt.txt"}, tmp_path).systems == ("S1",)
        (tmp_path / "S1.txt").unlink()
        with (
            pytest.warns(MirflowWarning, match="'gt' is not scored"),
            pytest.raises(PipelineError, match=r"estimates\.path: matches only the reference: '\{system\}\.txt'"),
        ):
            plan_evaluation(self.GENRES, tmp_path)

    def test_a_folder_of_references_is_no_system(self, tmp_path: Path) -> None:
        make(tmp_path, "sf/ref/a.lab", "sf/S1/a.lab")
        changes = {"reference": "sf/ref/{track}.lab", "estimates": "sf/{system}/{track}.lab"}
        with pytest.warns(MirflowWarning, match="'ref' is not scored as a system: 'sf/ref/a.lab' is the reference"):
            assert plan(tmp_path, **changes).systems == ("S1",)
        assert plan(tmp_path, **changes, systems=["S1"]).systems == ("S1",)
        assert problems_of(tmp_path, **changes, systems=["S1", "ref"]) == [
            "systems.ref: is the reference of the evaluation, not a system: 'sf/ref/a.lab'; leave it out"
        ]
        assert problems_of(tmp_path, **changes, systems=["rf"]) == [
            "systems.rf: no estimates of this system; known: S1"
        ]

    def test_annotators_may_be_scored_against_each_other(self, tmp_path: Path) -> None:
        make(tmp_path, "A1/a.lab", "A2/a.lab")
        reference = {"path": "{annotator}/{track}.lab", "combine": "each"}
        assert plan(tmp_path, reference=reference, estimates="{system}/{track}.lab").systems == ("A1", "A2")
        assert plan(tmp_path, reference=reference, estimates="./A1/../{system}/{track}.lab").systems == ("A1", "A2")

    def test_systems_that_are_not_listed_bring_in_nothing(self, tmp_path: Path) -> None:
        self.write(tmp_path, gt="a\tjazz\n", S1="a\tjazz\n", notes="zz\trock\nyy\trock\n")
        found = plan_evaluation({**self.GENRES, "systems": ["S1"]}, tmp_path)
        assert (found.systems, found.tracks) == (("S1",), ("a",))
        self.write(tmp_path, all="S1\ta\tjazz\nS2\tzz\tjazz\n")
        both = {"path": "all.txt", "columns": {"system": 0, "track": 1, "label": 2}}
        found = plan_evaluation({**self.GENRES, "estimates": both, "systems": ["S1"]}, tmp_path)
        assert (found.systems, found.tracks) == (("S1",), ("a",))

    def test_listed_runs_of_a_system_are_chosen(self, tmp_path: Path) -> None:
        make(tmp_path, "ref/a.lab", "est/S1/r1/a.lab", "est/S1/r2/a.lab", "est/S2/r1/z.lab")
        path = "est/{system}/{take}/{track}.lab"
        found = plan(tmp_path, estimates=path, systems=["S1/r2"])
        assert (found.systems, found.tracks) == (("S1/r2",), ("a",))
        assert problems_of(tmp_path, estimates=path, systems=["S1"]) == [
            "systems.S1: no estimates of this system; known: S1/r1, S1/r2, S2"
        ]

    @pytest.mark.parametrize("path", ["est/{system}/{track}.lab", "est/{system}/{fold}/{track}.lab"])
    def test_a_listed_system_with_an_empty_folder_is_missing_and_one_without_is_a_slip(
        self, tmp_path: Path, path: str
    ) -> None:
        make(tmp_path, "ref/a.lab", "est/S1/a.lab", "est/S1/f/a.lab")
        (tmp_path / "est" / "S3").mkdir()
        found = plan(tmp_path, estimates=path, systems=["S1", "S3"])
        assert found.systems == ("S1", "S3")
        assert set(found.estimates[1]) == {None}
        assert problems_of(tmp_path, estimates=path, systems=["S1", "S4"])[0].startswith(
            "systems.S4: no estimates of this system; known: S1"
        )

    def test_a_table_of_systems_that_cannot_be_opened_stops_before_anything_is_written(self, tmp_path: Path) -> None:
        self.write(tmp_path, gt="a\tjazz\n", all="system\ttrack\tlabel\nS1\ta\tjazz\n")
        misspelt = {"path": "all.txt", "columns": {"system": "system", "track": "track", "label": "genre"}}
        with pytest.raises(PipelineError, match=r"all\.txt:1: no column 'genre' for 'label'"):
            plan_evaluation({**self.GENRES, "estimates": misspelt}, tmp_path)


class TestWhatTracksAreCalled:
    """One side may name queries by the paths of their files, the other by the files' names."""

    def plans(self, root: Path, labels: str, lists: str) -> tuple[str, ...]:
        (root / "truth.qrels").write_text(labels)
        (root / "S1.lists").write_text(lists)
        evaluation = {"task": "retrieval", "reference": "truth.qrels", "estimates": "{system}.lists"}
        return plan_evaluation(evaluation, root).tracks

    def test_paths_meet_names(self, tmp_path: Path) -> None:
        assert self.plans(tmp_path, "q0 0 a 1\nq1 0 a 1\n", "/q/q0.wav: a b\n/q/q2.wav: a b\n") == ("q0", "q1", "q2")
        assert self.plans(tmp_path, "/q/q0.wav 0 a 1\n", "q0: a b\n") == ("/q/q0.wav",)

    def test_where_any_is_the_same_or_two_would_be_alike_nothing_is_guessed(self, tmp_path: Path) -> None:
        assert self.plans(tmp_path, "q0 0 a 1\nq1 0 a 1\n", "/q/q0.wav: a\nq1: a\n") == ("/q/q0.wav", "q0", "q1")
        with pytest.raises(PipelineError, match=r"no track in common: the closest names are 'q0' .* and 'x/q0.wav'"):
            self.plans(tmp_path, "q0 0 a 1\n", "x/q0.wav: a\ny/q0.wav: a\n")


class TestRuns:
    """Several runs of a system, as of several seeds, are systems that know their model."""

    FILES = ("ref/a.lab", "ref/b.lab", *(f"est/{name}/{track}.lab" for name in ("S/1", "S/2", "T/1") for track in "ab"))
    SIDES: ClassVar[dict[str, Any]] = {"reference": "ref/{track}.lab", "estimates": "est/{system}/{run}/{track}.lab"}

    def test_each_run_is_a_system_with_its_model(self, tmp_path: Path) -> None:
        make(tmp_path, *self.FILES)
        found = plan(tmp_path, **self.SIDES)
        assert found.systems == ("S/1", "S/2", "T/1")
        assert found.system_meta == {"run": ("1", "2", "1"), "model": ("S", "S", "T")}

    def test_a_listed_system_stands_for_its_runs_and_gives_them_its_metadata(self, tmp_path: Path) -> None:
        make(tmp_path, *self.FILES)
        found = plan(tmp_path, **self.SIDES, systems={"T": {"size": 9}, "S": {"size": 1}, "S/2": {"size": 2}})
        assert found.systems == ("T/1", "S/1", "S/2")
        assert found.system_meta == {"run": ("1", "1", "2"), "model": ("T", "S", "S"), "size": (9, 1, 2)}
        assert problems_of(tmp_path, **self.SIDES, systems=["U"]) == [
            "systems.U: no estimates of this system; known: S, T"
        ]

    def test_runs_of_one_system_need_no_placeholder_of_systems(self, tmp_path: Path) -> None:
        make(tmp_path, "ref/a.lab", "est/7/a.lab", "est/8/a.lab")
        found = plan(tmp_path, reference="ref/{track}.lab", estimates="est/{run}/{track}.lab")
        assert found.systems == ("estimate/7", "estimate/8")
        assert found.system_meta == {"run": ("7", "8"), "model": ("estimate", "estimate")}

    def test_runs_of_the_reference_are_told_apart_as_tracks(self, tmp_path: Path) -> None:
        make(tmp_path, *(f"{side}/{run}/a.lab" for side in ("ref", "est/S") for run in "12"))
        found = plan(tmp_path, reference="ref/{run}/{track}.lab", estimates="est/{system}/{run}/{track}.lab")
        assert (found.systems, found.system_meta) == (("S",), {})
        assert (found.tracks, found.track_meta) == (("1/a", "2/a"), {"run": ("1", "2")})
