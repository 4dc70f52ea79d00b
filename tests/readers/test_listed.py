"""Judgements, ranked candidates and alignments with a score, one file for all or one for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import Collection
from mirflow.errors import InvalidAnnotationError
from mirflow.readers import read
from mirflow.readers.options import DelimitedOptions, Reading

GRADES = """query,candidate,grader,broad,fine
q1,a,g1,VS,9.5
q1,a,g2,SS,6
q2,a,g1,NS,0.5
q1,b,g1,NS,1
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def load(path: Path, task: str = "similarity", **options: object) -> dict[str, Annotation]:
    collection = mirflow.load_collection(path, task, **options)  # type: ignore[arg-type]  # options of many types
    assert isinstance(collection, Collection)
    return {track: collection.annotation(track) for track in collection.tracks}


class TestJudgements:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("g.csv", GRADES),
            ("g.csv", GRADES.partition("\n")[2]),
            ("g.tsv", GRADES.replace(",", "\t")),
            (
                "g.csv",
                "# by hand\n"
                + GRADES.replace(
                    "query,candidate,grader,broad,fine", "Query ID,Candidate,Judge,Broad,Fine Score"
                ).replace("Query ID", "query_id"),
            ),
        ],
    )
    def test_a_file_of_all_queries(self, tmp_path: Path, name: str, text: str) -> None:
        found = load(write(tmp_path, name, text))
        assert list(found) == ["q1", "q2"]
        assert list(found["q1"].labels or ()) == ["a", "a", "b"]
        assert found["q1"].columns["grader"].tolist() == ["g1", "g2", "g1"]
        assert found["q1"].columns["broad"].tolist() == ["VS", "SS", "NS"]
        assert found["q1"].columns["value"].tolist() == [9.5, 6.0, 1.0]

    def test_declared_columns(self, tmp_path: Path) -> None:
        text = "9.5;VS;q1;a\n1;NS;q1;b\n"
        columns = {"value": 0, "broad": 1, "track": 2, "label": 3}
        found = load(write(tmp_path, "g.txt", text), columns=columns, delimiter=";")
        assert found["q1"].columns["broad"].tolist() == ["VS", "NS"]
        assert "grader" not in found["q1"].columns

    def test_a_file_of_one_query(self, tmp_path: Path) -> None:
        one = read(write(tmp_path, "q1.csv", "candidate,grader,broad,fine\na,g1,VS,9.5\n"), task="similarity")
        assert (one.labels, one.columns["grader"].tolist()) == (["a"], ["g1"])

    def test_a_fine_judgement_that_is_no_number(self, tmp_path: Path) -> None:
        path = write(tmp_path, "g.csv", GRADES.replace("9.5", "high"))
        with pytest.raises(InvalidAnnotationError, match=r"g.csv:2: value is not a number: 'high'"):
            load(path)


class TestLists:
    @pytest.mark.parametrize(
        "text",
        [
            "q1,a,0.9\nq1,b,0.7\nq2,c,0.1\n",
            "query,candidate\nq1,a\nq1,b\nq2,c\n",
            "query,rank,result\nq1,2,b\nq1,1,a\nq2,1,c\n",
        ],
    )
    def test_lists_of_all_queries(self, tmp_path: Path, text: str) -> None:
        found = load(write(tmp_path, "s.csv", text))
        assert {track: list(one.labels or ()) for track, one in found.items()} == {"q1": ["a", "b"], "q2": ["c"]}
        assert "grader" not in found["q1"].columns

    @pytest.mark.parametrize(
        ("rank", "message"),
        [
            ("1", r"s.csv:3: rank 1 occurs twice, first on line 2"),
            ("0", r"s.csv:3: invalid rank 0"),
            ("1.5", "invalid rank 1.5"),
        ],
    )
    def test_ranks_that_cannot_be(self, tmp_path: Path, rank: str, message: str) -> None:
        with pytest.raises(InvalidAnnotationError, match=message):
            load(write(tmp_path, "s.csv", f"query,candidate,rank\nq1,a,1\nq1,b,{rank}\n"))


class TestFollowing:
    def test_mirexs_four_columns_in_milliseconds(self, tmp_path: Path) -> None:
        one = read(write(tmp_path, "a.txt", "350 400 0 60\n900\t950\t500\t62\n"), task="score_following")
        assert {name: values.tolist() for name, values in one.columns.items()} == {
            "time": [0.35, 0.9],
            "detected": [0.4, 0.95],
            "position": [0.0, 0.5],
            "pitch": [60.0, 62.0],
        }

    def test_three_columns_have_no_time_of_detection(self, tmp_path: Path) -> None:
        one = read(write(tmp_path, "a.txt", "350 0 60\n900 500 62\n"), task="score_following")
        assert (sorted(one.columns), one.columns["position"].tolist()) == (["pitch", "position", "time"], [0.0, 0.5])

    def test_other_units_and_columns_are_declared(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.txt", "0.5 0.35\n")
        one = read(path, task="score_following", time_unit="s", columns={"position": 0, "time": 1})
        assert {name: values.tolist() for name, values in one.columns.items()} == {"position": [0.5], "time": [0.35]}

    def test_a_table_of_all_pieces(self, tmp_path: Path) -> None:
        path = write(tmp_path, "all.csv", "piece,onset,score,midi\nx,350,0,60\ny,10,0,61\n")
        columns = {"track": "piece", "time": "onset", "position": "score", "pitch": "midi"}
        assert load(path, "score_following", columns=columns)["y"].columns["time"].tolist() == [0.01]

    def test_what_is_missing_or_no_number(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidAnnotationError, match="no column holds 'position'"):
            read(write(tmp_path, "a.txt", "1 2\n"), task="score_following", columns={"time": 0, "pitch": 1})
        with pytest.raises(InvalidAnnotationError, match=r"b.txt:2: pitch is not a number: 'Do4'"):
            read(write(tmp_path, "b.txt", "1 2 0 60\n1 2 0 Do4\n"), task="score_following")
        named = read(write(tmp_path, "c.txt", "1 2 0 60\n1 2 0 C#4\n"), task="score_following")
        assert named.columns["pitch"].tolist() == [60.0, 61.0]

    def test_only_there_the_unit_is_milliseconds_by_itself(self) -> None:
        assert Reading.of(task="score_following").delimited.divisor == 1000
        assert Reading.of(task="score_following", delimited=DelimitedOptions(time_unit="s")).delimited.divisor == 1
        assert Reading.of(task="beat").delimited.divisor == 1


def test_a_run_over_tables_and_files(tmp_path: Path) -> None:
    write(tmp_path, "grades.csv", GRADES)
    for folder in ("runs", "ref", "followers/A"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path, "runs/one.csv", "query,candidate\nq1,a\nq2,a\n")
    write(tmp_path, "runs/two.csv", "query,candidate\nq1,zz\n")
    write(tmp_path, "ref/x.txt", "0 0 60\n510 500 62\n")
    write(tmp_path, "followers/A/x.txt", "0 50 0 60\n4000 4050 500 62\n")
    pipeline = write(
        tmp_path,
        "p.yaml",
        """name: graded
evaluations:
  - {task: similarity, reference: grades.csv, estimates: "runs/{system}.csv"}
  - {task: score_following, reference: "ref/{track}.txt", estimates: "followers/{system}/{track}.txt"}
store: out.zarr
""",
    )
    mirflow.run(pipeline, store=tmp_path / "out.zarr", on_error="ignore")
    tree = mirflow.open_store(tmp_path / "out.zarr")
    fine = tree["similarity"].score.sel(metric="fine")
    # a of q1: (9.5 + 6) / 2 of 10, in the first of five places.
    assert fine.sel(system="one", track="q1").item() == pytest.approx(0.775 / 5)
    assert np.isnan(fine.sel(system="two", track="q1").item())
    assert "no fine judgement of 'zz' (rank 1)" in tree["similarity"].message.sel(system="two", track="q1").item()
    assert tree["score_following"].score.sel(metric="misaligned").item() == 0.5
