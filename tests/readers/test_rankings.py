"""Rankings in rows, in lists of one line a query, in files of TREC, and of groups; judgements, following of scores."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import Collection
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnknownNameError, UnreadableError
from mirflow.readers import Reading, read
from mirflow.readers.options import DelimitedOptions
from mirflow.readers.tables.table import RowKey, TableSource, open_table


def reading(**options) -> Reading:
    columns = tuple(options.pop("columns", {}).items())
    delimiter = options.pop("delimiter", None)
    layout = DelimitedOptions(columns=columns, delimiter=delimiter)
    return Reading.of(task="retrieval", delimited=layout, **options)


def table(folder: Path, name: str, text: str, **options):
    path = folder / name
    path.write_text(text)
    return open_table(str(path), reading(**options), name)


def items(opened, track: str) -> list[str]:
    return list(opened.read(RowKey(track))[0].labels)


class TestRows:
    def test_a_query_and_an_item_in_each_row(self, tmp_path):
        opened = table(tmp_path, "x.csv", "q1,b\nq1,a\nq2,c\n")
        assert [key.track for key in opened.of_key] == ["q1", "q2"]
        assert items(opened, "q1") == ["b", "a"]

    @pytest.mark.parametrize(
        ("header", "expected"),
        [
            ("query,item,rank", ["z", "y", "x"]),
            ("query,item,score", ["x", "y", "z"]),
            ("qid,docid,sim", ["x", "y", "z"]),
            ("qid,docid,user_id", ["x", "y", "z"]),
        ],
    )
    def test_the_order_is_that_of_ranks_else_of_scores_else_of_rows(self, tmp_path, header, expected):
        opened = table(tmp_path, "x.csv", f"{header}\nq,x,3\nq,y,2\nq,z,1\n")
        assert items(opened, "q") == expected

    def test_ranks_count_more_than_scores_and_both_may_be_declared(self, tmp_path):
        columns = {"track": 0, "label": 1, "rank": 2, "value": 3}
        found, _ = table(tmp_path, "x.csv", "q,x,2,0.9\nq,y,1,0.8\n", columns=columns).read(RowKey("q"))
        assert (list(found.labels), found.columns["value"].tolist()) == (["y", "x"], [0.8, 0.9])
        assert set(found.columns) == {"value"}
        assert [found.line(item) for item in range(2)] == [2, 1]

    def test_equal_scores_keep_the_order_of_the_rows(self, tmp_path):
        opened = table(tmp_path, "x.csv", "query,item,score\nq,b,1\nq,c,2\nq,a,1\n")
        assert items(opened, "q") == ["c", "b", "a"]

    def test_a_candidate_that_is_called_track_is_the_item(self, tmp_path):
        assert items(table(tmp_path, "x.csv", "track,query,score\na,q,1\nb,q,2\n"), "q") == ["b", "a"]

    def test_ranks_may_count_from_zero(self, tmp_path):
        assert items(table(tmp_path, "x.csv", "query,item,rank\nq,a,1\nq,b,0\n"), "q") == ["b", "a"]

    @pytest.mark.parametrize(
        ("ranks", "message"),
        [
            ("1 2 2", "x.csv:4: rank 2 occurs twice, first on line 3"),
            ("1 2 4", "x.csv:4: missing rank 3: 2 is followed by 4"),
            ("2 3 4", "x.csv:2: invalid first rank 2"),
            ("1 2 2.5", "x.csv:4: invalid first rank 2.5"),
            ("nan 1 2", "x.csv:2: invalid first rank nan"),
            ("-1 1 2", "x.csv:2: invalid first rank -1"),
        ],
    )
    def test_ranks_that_are_none_spoil_their_query(self, tmp_path, ranks, message):
        rows = "".join(f"q,i{number},{rank}\n" for number, rank in enumerate(ranks.split()))
        opened = table(tmp_path, "x.csv", f"query,item,rank\n{rows}other,i,1\n")
        with pytest.raises(InvalidAnnotationError, match=message):
            opened.read(RowKey("q"))
        assert items(opened, "other") == ["i"]

    @pytest.mark.parametrize(("name", "row"), [("x.csv", "q,a,1"), ("x.txt", "q a 1"), ("x.tsv", "q\ta\t1")])
    def test_a_third_column_without_a_name_is_not_guessed_at(self, tmp_path, name, row):
        with pytest.raises(
            InvalidAnnotationError, match=r"are ambiguous \(the rank, the score or the grade\): declare columns"
        ):
            table(tmp_path, name, row + "\n")

    def test_a_file_for_each_query(self, tmp_path):
        (tmp_path / "q1.txt").write_text("a\nb\n")
        (tmp_path / "q2.csv").write_text("item,rank\na,2\nb,1\n")
        assert mirflow.load(tmp_path / "q1.txt", task="retrieval").label.values.tolist() == ["a", "b"]
        assert mirflow.load(tmp_path / "q2.csv", task="retrieval").label.values.tolist() == ["b", "a"]


class TestLists:
    @pytest.mark.parametrize(
        "text", ["q1: a b c\n", "q1\ta b c\n", "q1\ta\tb\tc\n", "q1,a,b,c\n", "q1: a, b, c\n", "\ufeffq1:\ta,b,c\r\n"]
    )
    def test_a_query_and_its_items(self, tmp_path, text):
        assert items(table(tmp_path, "x.txt", text, format="lists"), "q1") == ["a", "b", "c"]

    def test_names_with_blanks_stand_between_tabs(self, tmp_path):
        opened = table(tmp_path, "x.txt", "a query\tone song\tanother\nq2\tone song\n", format="lists")
        assert items(opened, "a query") == ["one song", "another"]
        assert items(opened, "q2") == ["one", "song"]
        assert items(table(tmp_path, "x.txt", "q2\tone song\n", format="lists", delimiter="tab"), "q2") == ["one song"]

    def test_comments_blank_lines_and_queries_without_answers(self, tmp_path):
        opened = table(tmp_path, "x.txt", "# top 3\n\nq1: a b\nq2:\n", format="lists")
        assert [key.track for key in opened.of_key] == ["q1", "q2"]
        assert items(opened, "q2") == []
        assert opened.read(RowKey("q1"))[0].line(1) == 3

    def test_a_query_that_stands_twice_is_spoilt(self, tmp_path):
        opened = table(tmp_path, "x.txt", "q1 a\nq2 b\nq1 c\n", format="lists")
        with pytest.raises(InvalidAnnotationError, match=r"x\.txt:3: query 'q1' occurs twice, first on line 1"):
            opened.read(RowKey("q1"))
        assert items(opened, "q2") == ["b"]

    def test_what_is_no_text_names_its_line(self, tmp_path):
        (tmp_path / "x.txt").write_bytes(b"q1 a\nq\xff b\n")
        with pytest.raises(UnreadableError, match="line 2 is not utf-8"):
            open_table(str(tmp_path / "x.txt"), reading(format="lists"), "x.txt")


RUN = "q1 Q0 a 1 0.5 sys\nq1 Q0 b 2 0.9 sys\nq2 Q0 a 1 0.5 sys\nq2 Q0 c 2 0.5 sys\n"


class TestTrec:
    def test_a_run_is_in_the_order_of_its_scores_whatever_its_ranks(self, tmp_path):
        opened = table(tmp_path, "x.run", RUN)
        assert items(opened, "q1") == ["b", "a"]
        assert items(opened, "q2") == ["c", "a"]
        found, _ = opened.read(RowKey("q1"))
        assert (found.columns["value"].tolist(), [found.line(0), found.line(1)]) == ([0.9, 0.5], [2, 1])

    def test_judgements(self, tmp_path):
        found, _ = table(tmp_path, "x.qrels", "q1 0 a 1\nq1 0 b 2\nq2\t0\tc\t0\n").read(RowKey("q1"))
        assert (list(found.labels), found.columns["value"].tolist()) == (["a", "b"], [1.0, 2.0])

    @pytest.mark.parametrize(
        "text",
        [
            "q1 Q0 a 1 0.5 s\nq2 Q0 a 1 0.5 s\nq1 Q0 b 2 0.9 s\n",
            "q1 Q0 a 1 0.5\nq1 Q0 b 2 0.9\n",
            "\nq1 Q0 a 1 0.5 s\n\n# comment\nq1 Q0 b 2 0.9 s\n\n",
            "q1\tQ0\ta\t1\t0.5\ts\r\nq1   Q0 b 2 9e-1 s",
        ],
    )
    def test_rows_may_be_scattered_short_or_spaced(self, tmp_path, text):
        opened = table(tmp_path, "x.run", text)
        found, _ = opened.read(RowKey("q1"))
        assert (list(found.labels), found.columns["value"].tolist()) == (["b", "a"], [0.9, 0.5])
        numbered = {number: line.split() for number, line in enumerate(text.split("\n"), 1)}
        assert [numbered[found.line(item)][2] for item in range(2)] == ["b", "a"]

    def test_lines_of_six_fields_on_the_whole_are_not_lines_of_six(self, tmp_path):
        """trec_eval and pytrec_eval refuse a line of seven, too."""
        opened = table(tmp_path, "x.run", "q1 Q0 a 1 0.5\nq1 Q0 b 2 0.9 s extra\n")
        with pytest.raises(InvalidAnnotationError, match=r"x\.run:2: has 7 columns, not 6: 'q1 Q0 b 2 0\.9 s extra'"):
            opened.read(RowKey("q1"))

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("x.run", "q Q0 a 1 0.5 s\nq Q0 b 2 high s\n", "x.run:2: score is not a number: 'high'"),
            ("x.run", "q Q0 a 1 0.5 s\nq Q0 b\n", "x.run:2: has 3 columns, needs query, item, score: 'q Q0 b'"),
            ("x.qrels", "q 0 a\n", "x.qrels:1: has 3 columns, needs query, item, grade"),
            ("x.qrels", "q 0 a nan\n", "x.qrels:1: the number of 'a' is NaN"),
            ("x.run", "q Q0 a 1 nan s\n", "x.run:1: the number of 'a' is NaN"),
            ("x.csv", "query,item,score\nq,a,nan\n", "x.csv:2: the number of 'a' is NaN"),
        ],
    )
    def test_rows_that_are_none_are_reported_with_their_line(self, tmp_path, name, text, message):
        with pytest.raises(InvalidAnnotationError, match=message):
            table(tmp_path, name, text).read(RowKey("q"))

    @pytest.mark.parametrize(("name", "text"), [("x.run", RUN), ("x.qrels", "q 0 a 1\nr 0 b 1\n")])
    def test_lines_that_end_with_a_carriage_return_alone_are_refused(self, tmp_path, name, text):
        with pytest.raises(UnreadableError, match=f"{name}:1: lines end with a carriage return alone"):
            table(tmp_path, name, text.replace("\n", "\r"))
        table(tmp_path, name, text.replace("\n", "\r\n"))

    def test_a_large_query_is_refused_alone(self, tmp_path):
        opened = table(tmp_path, "x.run", RUN + "q3 Q0 a 1 1 s\n", max_bytes=30)
        with pytest.raises(UnreadableError, match="too large"):
            opened.read(RowKey("q1"))
        assert items(opened, "q3") == ["a"]


class TestStamps:
    @pytest.mark.parametrize(
        ("name", "before", "after", "options"),
        [
            ("x.run", RUN, RUN.replace("b 2 0.9", "b 2 0.8"), {}),
            ("x.txt", "q1: a b\nq2: a\n", "q1: b a\nq2: a\n", {"format": "lists"}),
            ("x.csv", "q1,a\nq1,b\nq2,a\n", "q1,b\nq1,a\nq2,a\n", {}),
        ],
    )
    def test_a_changed_row_concerns_its_query_only(self, tmp_path, name, before, after, options):
        def facts():
            opened = table(tmp_path, name, before, **options)
            return {key.track: (opened.stamp(key), opened.read(key)[1]) for key in opened.of_key}

        first, before = facts(), after
        second = facts()
        assert first["q1"][0] != second["q1"][0]
        assert first["q1"][1] != second["q1"][1]
        assert first["q2"] == second["q2"]

    def test_sources_travel(self, tmp_path):
        (tmp_path / "x.run").write_text(RUN)
        source = TableSource(str(tmp_path / "x.run"), RowKey("q2"), reading(), "x.run")
        found, _ = pickle.loads(pickle.dumps(source)).read()
        assert list(found.labels) == ["c", "a"]
        assert source.label == "x.run [q2]"

    def test_rows_that_have_gone_are_reported(self, tmp_path):
        opened = table(tmp_path, "x.run", RUN)
        with pytest.raises(AnnotationError, match="has no rows of 'q9'"):
            opened.read(RowKey("q9"))


def test_one_file_of_many_queries_is_no_single_ranking(tmp_path):
    (tmp_path / "x.run").write_text(RUN)
    with pytest.raises(InvalidAnnotationError, match="run files hold many tracks: read them with load_collection"):
        mirflow.load(tmp_path / "x.run", task="retrieval")


def test_a_collection_of_all_queries(tmp_path):
    (tmp_path / "x.run").write_text(RUN)
    whole = mirflow.load_collection(tmp_path / "x.run", "retrieval")
    assert whole.tracks == ("q1", "q2")
    np.testing.assert_array_equal(whole.rows.counts[0], [2, 2])


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("run", "cafe\u0301 Q0 d1 1 9.5 s\ncaf\u00e9 Q0 d2 2 8.5 s\n", ["d1", "d2"]),
        ("qrels", "cafe\u0301 0 d1 1\ncaf\u00e9 0 d2 1\n", ["d1", "d2"]),
        ("lists", "cafe\u0301\td1\td2\n", ["d1", "d2"]),
        ("groups", "cafe\u0301\tw\u00a0one\nd1\tv\nd2\tw one\nd3\tv\n", ["d2", "caf\u00e9"]),
        ("matrix", ",cafe\u0301,d1\ncaf\u00e9,0,1\nd1,1,0\n", ["d1"]),
    ],
)
def test_names_of_queries_are_the_same_in_each_form_of_text(
    tmp_path: Path, format: str, text: str, expected: list[str]
) -> None:
    opened = table(tmp_path, "x.csv" if format == "matrix" else "x.txt", text, format=format)
    assert items(opened, "caf\u00e9") == expected


def test_items_of_lists_may_be_in_quotes(tmp_path: Path) -> None:
    opened = table(tmp_path, "x.lists", '"q1"\t"d1"\t"one, song"\nq2,"a, b",c\n', format="lists")
    assert (items(opened, "q1"), items(opened, "q2")) == (["d1", "one, song"], ["a, b", "c"])


COVERS = "a\twork1\nb\twork1\nc\twork1\nd\twork2\ne\twork2\nalone\twork3\nnoise\t\n"
ARTISTS = "track,genre,artist\na,rock,x\nb,rock,x\nc,rock,y\nd,jazz,x\ne,jazz,\nf,rock,\ng,blues,z\nh,blues,z\n"


def groups(folder, text, name="g.tsv", columns=(), **options):
    path = folder / name
    path.write_text(text)
    layout = DelimitedOptions(columns=tuple(dict(columns).items()))
    return open_table(str(path), Reading.of(task="retrieval", format="groups", delimited=layout, **options), name)


def sides(opened, track):
    """The relevant items and those that are left out."""
    found, _ = opened.read(RowKey(track))
    marked = dict(zip(found.labels, found.columns["left_out"].tolist(), strict=True))
    return [item for item, mark in marked.items() if not mark], sorted(item for item, mark in marked.items() if mark)


def test_the_others_of_a_group_are_relevant_and_the_query_is_left_out(tmp_path):
    opened = groups(tmp_path, COVERS)
    assert [key.track for key in opened.of_key] == ["a", "b", "c", "d", "e"]
    assert sides(opened, "b") == (["a", "c"], ["b"])
    assert sides(opened, "d") == (["e"], ["d"])


def test_the_query_may_be_kept(tmp_path):
    assert sides(groups(tmp_path, COVERS, exclude="none"), "b") == (["a", "c"], [])


def test_items_that_nobody_is_relevant_for_are_no_queries(tmp_path):
    opened = groups(tmp_path, COVERS)
    assert RowKey("alone") not in opened.of_key
    assert RowKey("noise") not in opened.of_key


def test_the_same_artist_is_left_out(tmp_path):
    opened = groups(tmp_path, ARTISTS, "g.csv", exclude_same="artist")
    assert sides(opened, "a") == (["c", "f"], ["a", "b", "d"])
    assert sides(opened, "c") == (["a", "b", "f"], ["c"])
    assert sides(opened, "f") == (["a", "b", "c"], ["f"])
    assert sides(opened, "e") == (["d"], ["e"])
    assert not {RowKey("g"), RowKey("h")} & set(opened.of_key), "the whole group is of one artist"
    assert sides(groups(tmp_path, ARTISTS, "g.csv"), "g") == (["h"], ["g"])


def test_columns_are_found_by_name_or_declared(tmp_path):
    named = groups(tmp_path, "artist,clique,file\nx,1,a\ny,1,b\n", "g.csv")
    assert sides(named, "a") == (["b"], ["a"])
    declared = groups(tmp_path, "x;1;a\ny;1;b\n", "g.txt", {"track": 2, "label": 1}, exclude_same=0)
    assert sides(declared, "a") == (["b"], ["a"])


def test_lines_are_those_of_the_items(tmp_path):
    found, _ = groups(tmp_path, "# covers\n\n" + COVERS).read(RowKey("b"))
    assert [found.line(item) for item in range(3)] == [3, 5, 4]


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("a\t1\nb\t1\na\t2\n", {}, InvalidAnnotationError, r"g\.tsv:3: item 'a' occurs twice, first on line 1"),
        ("a\t1\n\t1\n", {}, InvalidAnnotationError, r"g\.tsv:2: the row has no item"),
        ("a\t1\n", {"exclude_same": "artist"}, InvalidAnnotationError, "the file has no header and no column 'artist'"),
        ("track\tgenre\tartits\na\t1\tx\n", {"exclude_same": "artist"}, InvalidAnnotationError, "mean 'artits'"),
        (
            "track\tkind\na\t1\n",
            {},
            InvalidAnnotationError,
            "no column holds 'label'; declare it in columns: track, kind",
        ),
        ("a\t1\n", {"columns": {"lable": 1}}, UnknownNameError, "did you mean 'label'"),
    ],
)
def test_what_is_wrong_is_reported(tmp_path, text, options, error, message):
    with pytest.raises(error, match=message):
        groups(tmp_path, text, **options)


def test_a_changed_group_concerns_its_own_queries_only(tmp_path):
    def facts(text, **options):
        opened = groups(tmp_path, text, "g.csv", **options)
        return {key.track: (opened.stamp(key), opened.read(key)[1]) for key in opened.of_key}

    before, after = facts(ARTISTS), facts(ARTISTS + "i,jazz,q\n")
    assert [key for key in before if before[key] != after[key]] == ["d", "e"]
    before, after = (facts(text, exclude_same="artist") for text in (ARTISTS, ARTISTS + "i,metal,y\n"))
    assert [key for key in before if before[key] != after[key]] == ["c"]
    assert facts(ARTISTS)["a"] != facts(ARTISTS, exclude="none")["a"]


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


class TestListsOfTracks:
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
