"""Matrices of distances: MIREX's layout, tables and numpy's files, each row a ranking."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import InvalidAnnotationError, UnreadableError
from mirflow.kernels.ragged_ops import ascending
from mirflow.readers import Reading
from mirflow.readers.tables.table import RowKey, open_table

MIREX = (
    "Example distance matrix 0.1\n1\tpath/to/x.wav\n2\tpath/to/y.wav\n3\tpath/to/z.wav\n"
    "Q/R\t1\t2\t3\n1\t0.0\t1.241\t0.2e-4\n2\t1.241\t0.000\t0.6264\n3\t50.2e-4\t0.6264\t0.0000\n"
)
TABLE = ",x,y,z\nx,0,1.241,0.00002\ny,1.241,0,0.6264\nz,0.00502,0.6264,0\n"


def matrix(folder, text, name="m.txt", **options):
    path = folder / name
    path.write_text(text)
    return open_table(str(path), Reading.of(task="retrieval", format="matrix", **options), name)


def ranks(opened, query):
    return list(opened.read(RowKey(query))[0].labels)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.txt", MIREX),
        ("m.txt", MIREX.replace("\t", " ")),
        ("m.txt", MIREX.replace("\n", "\r\n")),
        ("m.txt", MIREX.replace("\t3\n", "\t3\t\n").replace("0.6264\n", "0.6264\t\n")),
        ("m.txt", MIREX.split("\n", 1)[1]),
        ("m.txt", MIREX.rstrip("\n")),
        ("m.txt", MIREX.replace("Example", "1 more example of a")),
        ("m.txt", MIREX.replace("Example distance matrix 0.1", "2007")),
        ("m.csv", TABLE),
        ("m.csv", TABLE.replace(",x,y,z", "x,y,z")),
        ("m.csv", TABLE.replace(",x,y,z", "track,x,y,z")),
        ("m.csv", TABLE.replace("0.00002", "+.2e-4")),
        ("m.csv", TABLE.replace(",x,y,z", ',"x","y","z"').replace("\nx", '\n"x"')),
        ("m.txt", TABLE.replace(",x", "q,x").replace(",", " ")),
        ("m.tsv", TABLE.replace(",", "\t")),
        ("m.txt", TABLE.replace(",", ";")),
    ],
)
def test_a_row_is_a_ranking_without_the_query(tmp_path, name, text):
    opened = matrix(tmp_path, text, name)
    assert [key.track for key in opened.of_key] == ["x", "y", "z"]
    assert [ranks(opened, query) for query in "xyz"] == [["z", "y"], ["z", "x"], ["x", "y"]]


def test_the_query_may_be_kept(tmp_path):
    assert ranks(matrix(tmp_path, MIREX, exclude="none"), "x") == ["x", "z", "y"]


def test_equal_distances_keep_the_order_of_the_columns(tmp_path):
    assert ranks(matrix(tmp_path, ",a,b,c,d\nq,1,0,1,0\n", "m.csv"), "q") == ["b", "d", "a", "c"]


def test_rows_may_be_some_of_the_items_or_queries_of_their_own(tmp_path):
    text = MIREX.replace("2\t1.241\t0.000\t0.6264\n", "")
    assert [key.track for key in matrix(tmp_path, text).of_key] == ["x", "z"]
    assert ranks(matrix(tmp_path, ",a,b\nhummed,0.5,0.2\n", "m.csv"), "hummed") == ["b", "a"]


def test_columns_may_be_in_any_order(tmp_path):
    text = "t\n1\tx.wav\n2\ty.wav\n3\tz.wav\nQ/R\t3\t1\t2\n2\t0.5\t0.1\t0\n"
    assert ranks(matrix(tmp_path, text), "y") == ["x", "z"]


def test_names_that_would_be_alike_stay_whole(tmp_path):
    text = "t\n1\ta/1.wav\n2\tb/1.wav\nQ/R\t1\t2\n1\t0\t1\n"
    assert ranks(matrix(tmp_path, text, exclude="none"), "a/1.wav") == ["a/1.wav", "b/1.wav"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("1.241\t0.2e-4", "nan\t0.2e-4", r"m\.txt:6: the distance from 'x' to 'y' is not finite: nan"),
        ("1.241\t0.2e-4", "1.241\t-inf", r"m\.txt:6: the distance from 'x' to 'z' is not finite: -inf"),
        ("1.241\t0.2e-4", "1.241\t1e999", r"m\.txt:6: the distance from 'x' to 'z' is not finite: inf"),
        ("1.241\t0.2e-4", "far\t0.2e-4", r"m\.txt:6: the distance to 'y' is not a number: 'far'"),
        ("1.241\t0.2e-4", "1.241", r"m\.txt:6: has 2 distances, but needs one for each of the 3 items"),
        ("1.241\t0.2e-4", "1.241\t\t", r"m\.txt:6: has 2 distances, but needs one for each of the 3 items"),
        ("1.241\t0.2e-4", "\t0.2e-4", r"m\.txt:6: the distance to 'y' is not a number: ''"),
    ],
)
def test_a_bad_row_spoils_its_own_query(tmp_path, before, after, message):
    opened = matrix(tmp_path, MIREX.replace(before, after))
    with pytest.raises(InvalidAnnotationError, match=message):
        opened.read(RowKey("x"))
    assert ranks(opened, "y") == ["z", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; a matrix must name its items"),
        ("title\n1\tx.wav\n2\ty.wav\n", "no line begins with Q/R"),
        (MIREX.replace("2\tpath", "1\tpath"), r"m\.txt:3: two files have the number 1"),
        (MIREX.replace("2\tpath", "two\tpath"), r"m\.txt:3: expected a number and a file, or the line Q/R, not 'two"),
        (MIREX.replace("Q/R\t1\t2\t3", "Q/R\t1\t2\t4"), r"m\.txt:5: no file has the number '4' of this column"),
        (MIREX.replace("Q/R\t1\t2\t3", "Q/R\t1\t2\t2"), r"m\.txt:5: two columns are called '2'"),
        (MIREX.replace("\n3\t50", "\n9\t50"), r"m\.txt:8: no file has the number '9' of this row"),
        (MIREX.replace("\n3\t50", "\n1\t50"), r"m\.txt:8: query 'x' occurs twice, first on line 6"),
        ("0.0,0.5,0.2\n0.5,0.0,0.1\n0.2,0.1,0.0\n", r"m\.txt:1: does not name its items"),
        (",x,x\nx,0,1\n", r"m\.txt:1: two columns are called 'x'"),
    ],
)
def test_what_is_no_matrix_is_reported(tmp_path, text, message):
    with pytest.raises(InvalidAnnotationError, match=message):
        matrix(tmp_path, text)


def test_a_changed_row_concerns_its_query_only_and_a_changed_name_all(tmp_path):
    def facts(text):
        opened = matrix(tmp_path, text)
        return [(opened.stamp(key), opened.read(key)[1]) for key in opened.of_key]

    first, other = facts(MIREX), facts(MIREX.replace("1.241\t0.000", "1.242\t0.000"))
    assert [one == two for one, two in zip(first, other, strict=True)] == [True, False, True]
    renamed = facts(MIREX.replace("z.wav", "w.wav"))
    assert all(one[0] != two[0] and one[1] != two[1] for one, two in zip(first, renamed, strict=True))


def test_lines_that_end_with_a_carriage_return_alone_are_refused(tmp_path):
    with pytest.raises(UnreadableError, match=r"m\.txt:1: lines end with a carriage return alone"):
        matrix(tmp_path, MIREX.replace("\n", "\r"))


class TestArrays:
    def write(self, folder, distances, names=("x", "y", "z"), beside="m.txt"):
        np.save(folder / "m.npy", distances)
        (folder / beside).write_text("".join(f"{name}\n" for name in names))
        return open_table(str(folder / "m.npy"), Reading.of(task="retrieval"), "m.npy")

    DISTANCES = np.array([[0, 1.241, 0.2e-4], [1.241, 0, 0.6264], [50.2e-4, 0.6264, 0]])

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
    @pytest.mark.parametrize("beside", ["m.txt", "items.txt"])
    def test_a_row_is_a_ranking_without_the_query(self, tmp_path, dtype, beside):
        opened = self.write(tmp_path, self.DISTANCES.astype(dtype), beside=beside)
        assert [ranks(opened, query) for query in "xyz"] == [["z", "y"], ["z", "x"], ["x", "y"]]

    def test_names_that_do_not_fit_are_reported(self, tmp_path):
        with pytest.raises(InvalidAnnotationError, match=r"is 3 x 3, but m\.txt names 2 items"):
            self.write(tmp_path, self.DISTANCES, "xy")
        with pytest.raises(InvalidAnnotationError, match="names 'x' twice"):
            self.write(tmp_path, self.DISTANCES, "xyx")
        (tmp_path / "m.txt").unlink()
        with pytest.raises(UnreadableError, match=r"write them to m\.txt or items\.txt next to it"):
            open_table(str(tmp_path / "m.npy"), Reading.of(task="retrieval"), "m.npy")

    def test_what_is_no_array_of_numbers_is_reported(self, tmp_path):
        with pytest.raises(UnreadableError, match="is an array of bool, not of numbers"):
            self.write(tmp_path, self.DISTANCES > 1)
        with pytest.raises(UnreadableError, match="cannot be read as an array"):
            self.write(tmp_path, self.DISTANCES.astype(object))
        with (tmp_path / "m.npy").open("wb") as file:
            np.savez(file, self.DISTANCES)
        with pytest.raises(UnreadableError, match="is an archive of arrays, not a single array"):
            open_table(str(tmp_path / "m.npy"), Reading.of(task="retrieval"), "m.npy")
        with pytest.raises(InvalidAnnotationError, match=r"is one number, but m\.txt names 3 items"):
            self.write(tmp_path, np.array(1.0))

    def test_a_distance_that_is_not_finite(self, tmp_path):
        opened = self.write(tmp_path, np.where(self.DISTANCES == 1.241, np.nan, self.DISTANCES))
        with pytest.raises(InvalidAnnotationError, match="distance from 'x' to 'y' is not finite: nan"):
            opened.read(RowKey("x"))
        assert ranks(opened, "z") == ["x", "y"]

    def test_a_changed_row_concerns_its_query_only(self, tmp_path):
        def facts(distances):
            opened = self.write(tmp_path, distances)
            return [(opened.stamp(key), opened.read(key)[1]) for key in opened.of_key]

        other = self.DISTANCES.copy()
        other[1, 2] = 0.7
        assert [one == two for one, two in zip(facts(self.DISTANCES), facts(other), strict=True)] == [True, False, True]

    @pytest.mark.parametrize(
        ("key", "turned"), [("distances", 1), ("dist", 1), ("similarities", -1), ("similarity_matrix", -1)]
    )
    @pytest.mark.parametrize("listed", ["items", "track_ids"])
    def test_an_archive_has_the_names_and_says_what_is_near(self, tmp_path, key, turned, listed):
        np.savez(tmp_path / "m.npz", **{key: turned * self.DISTANCES, listed: np.array(["x", "y", "z"])})
        opened = open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")
        assert [ranks(opened, query) for query in "xyz"] == [["z", "y"], ["z", "x"], ["x", "y"]]

    def test_an_archive_may_have_queries_that_are_no_items(self, tmp_path):
        arrays = {"distances": self.DISTANCES[:2], "queries": ["q", "x"], "items": [b"x", b"y", b"z"]}
        np.savez_compressed(tmp_path / "m.npz", **arrays)
        opened = open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")
        assert (ranks(opened, "q"), ranks(opened, "x")) == (["x", "z", "y"], ["y", "z"])

    def test_other_arrays_of_an_archive_are_reported(self, tmp_path):
        arrays = {"distances": self.DISTANCES, "items": ["x", "y", "z"]}
        for more in ({}, {"years": [1.5, 2.0, 3.0]}, {"track_id": ["a"], "weights": [1.5]}):
            np.savez(tmp_path / "m.npz", **arrays, **more)
            opened = open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")
            remarks = opened.annotation(RowKey("x"), b"").account
            listed = ", ".join(map(repr, sorted(more)))
            assert [one.message for one in remarks] == [f"other arrays of the archive are not read: {listed}"] * bool(
                more
            )
        np.savez(tmp_path / "m.npz", **arrays, Items=["x", "y", "w"])
        with pytest.raises(UnreadableError, match=r"m\.npz: holds two arrays called 'Items'"):
            open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")

    def test_an_archive_without_names_has_them_beside_it(self, tmp_path):
        np.savez(tmp_path / "m.npz", distances=self.DISTANCES)
        with pytest.raises(
            UnreadableError, match=r"m\.npz: does not name its items: save them in it as 'items', or write them"
        ):
            open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")
        (tmp_path / "m.txt").write_text("x\ny\nz\n")
        assert ranks(open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz"), "x") == ["z", "y"]

    def test_an_archive_that_does_not_say_what_is_near_is_refused(self, tmp_path):
        np.savez(tmp_path / "m.npz", self.DISTANCES, items=["x", "y", "z"])
        with pytest.raises(
            InvalidAnnotationError, match="the array 'arr_0' holds distances: rename it to distances or similarities"
        ):
            open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")
        np.savez(tmp_path / "m.npz", distances=self.DISTANCES[:2], items=["x", "y", "z"])
        with pytest.raises(InvalidAnnotationError, match=r"m\.npz: is 2 x 3, but it names 3 items"):
            open_table(str(tmp_path / "m.npz"), Reading.of(task="retrieval"), "m.npz")

    def test_similarities_are_not_read_as_distances(self, tmp_path):
        message = r"m\.npy: looks like similarities, .*: save the array as similarities in an \.npz, or, .* write 0 on"
        with pytest.raises(InvalidAnnotationError, match=message):
            self.write(tmp_path, 2 - self.DISTANCES)


@given(st.lists(st.integers(-5, 5).map(float), max_size=60) | st.lists(st.floats(allow_nan=False), max_size=60))
def test_the_order_is_that_of_a_stable_sort(values):
    numbers = np.array(values, dtype=np.float64)
    np.testing.assert_array_equal(ascending(numbers), np.argsort(numbers, kind="stable"))


def test_a_matrix_is_not_held(tmp_path):
    size = 1000
    names = [f"item{number}" for number in range(size)]
    row = ",".join(f"{value:.6f}" for value in np.random.default_rng(1).random(size))
    path = tmp_path / "m.csv"
    path.write_text(f",{','.join(names)}\n" + "".join(f"{name},{row}\n" for name in names))
    assert path.stat().st_size > 8 * 2**20
    tracemalloc.start()
    try:
        opened = open_table(str(path), Reading.of(task="retrieval", format="matrix"), "m.csv")
        for key in opened.of_key:
            opened.stamp(key)
        for name in names[:20]:
            opened.read(RowKey(name))
        assert tracemalloc.get_traced_memory()[1] < 2 * 2**20
    finally:
        tracemalloc.stop()
    assert opened.held < 2**20
