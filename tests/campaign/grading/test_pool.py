"""Pools: the first of each system's candidates, merged, filtered, and without a trace of where they come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.campaign.grading.pool import (
    Pool,
    key_path,
    pool,
    read_key,
    read_pairs,
    read_rankings,
    summarise_pool,
    write_pool,
)
from mirflow.campaign.grading.query_draw import CsvTable, PieceTable, read_pieces
from mirflow.errors import AnnotationError, GradingError, InvalidAnnotationError

NAMES = [f"p{number}" for number in range(12)]
ARTIST = {name: "" if name == "p11" else f"artist{number % 4}" for number, name in enumerate(NAMES)}
PIECES = PieceTable(CsvTable("pieces.csv", ("piece", "artist"), tuple(ARTIST.items()), tuple(range(2, 14))), "piece")
LISTS = st.dictionaries(
    st.sampled_from(["A", "B", "C"]),
    st.fixed_dictionaries({query: st.permutations(NAMES) for query in ("p0", "p5")}),
    min_size=1,
)


class TestPool:
    @settings(deadline=None)
    @given(LISTS, st.integers(1, 14))
    def test_the_first_of_each_system_that_are_neither_the_query_nor_of_its_artist(self, lists, top):
        found = pool(lists, ["p0", "p5"], top, "seed", pieces=PIECES, same=["artist"], exclude=["p7"])
        for system, own in lists.items():
            for query, ranking in own.items():
                allowed = [one for one in ranking if one not in (query, "p7") and ARTIST[one] != ARTIST[query]]
                taken = [one for one in found.returned if (one.system, one.query) == (system, query)]
                assert [one.piece for one in taken] == allowed[:top]
                assert [one.rank for one in taken] == list(range(1, len(taken) + 1))

    @settings(deadline=None)
    @given(LISTS, st.integers(1, 5))
    def test_a_pair_is_judged_once_however_many_systems_return_it(self, lists, top):
        found = pool(lists, ["p0", "p5"], top, "seed")
        unique = {(one.query, one.piece) for one in found.returned}
        assert len(found.pairs) == len(set(found.pairs)) == len(unique)
        assert sum(times * pairs for times, pairs in found.overlap().items()) == len(found.returned)
        assert {(pair.query, found.pieces[pair.candidate]) for pair in found.pairs} == unique

    @settings(deadline=None)
    @given(LISTS, st.randoms())
    def test_ids_tell_neither_systems_nor_ranks(self, lists, random):
        """The pool is the same if systems change their names, their order and the order of their candidates."""
        top = 3
        other = {}
        for system in sorted(lists, reverse=True):
            other[f"renamed {system}"] = {
                query: [*random.sample(rest := [one for one in own if one != query][:top], len(rest)), query]
                for query, own in lists[system].items()
            }
        assert pool(lists, ["p0", "p5"], top, "s").pairs == pool(other, ["p0", "p5"], top, "s").pairs

    def test_ids_stay_when_a_system_is_added_and_change_with_the_secret(self):
        one = {"A": {"q": ["x", "y"]}}
        two = one | {"B": {"q": ["z", "x"]}}
        assert set(pool(one, ["q"], 2, "s").pairs) < set(pool(two, ["q"], 2, "s").pairs)
        assert set(pool(one, ["q"], 2, "s").pairs).isdisjoint(pool(one, ["q"], 2, "other").pairs)

    def test_the_order_of_candidates_says_nothing_of_ranks(self):
        ranks = []
        for seed in range(200):
            found = pool({"A": {"q": NAMES}}, ["q"], 10, str(seed))
            rank = {one.candidate: one.rank for one in found.returned}
            ranks.append([rank[pair.candidate] for pair in found.pairs])
        # The mean of 200 ranks of each place is within 4 of its standard errors of 5.5.
        assert np.abs(np.mean(ranks, axis=0) - 5.5).max() < 4 * np.sqrt(99 / 12 / 200)

    def test_what_is_returned_for_a_mutation_is_judged_beside_the_candidates_of_its_query(self, tmp_path):
        lists = {"A": {"q": ["x", "y"], "q-cut": ["q", "y", "z"]}, "B": {"q": ["x"], "q-cut": ["x", "q-cut"]}}
        found = pool(lists, ["q", "q-cut"], 2, "s", judged_as={"q-cut": "q", "q": ""})
        assert [pair.query for pair in found.pairs] == ["q"] * 3
        assert {found.pieces[pair.candidate] for pair in found.pairs} == {"x", "y", "z"}
        assert found.left_out == {"the query itself": 2}
        assert [pair.candidate for pair in pool(lists, ["q"], 2, "s").pairs] == [
            pair.candidate for pair in found.pairs if found.pieces[pair.candidate] != "z"
        ]
        assert found.overlap() == {1: 2, 2: 1}
        key = write_pool(found, tmp_path / "pool.csv")
        assert read_pairs(tmp_path / "pool.csv") == found.pairs
        assert read_key(key) == found

    def test_only_mutations_may_have_been_drawn(self):
        found = pool({"A": {"q-cut": ["x"]}}, ["q-cut"], 1, "s", judged_as={"q-cut": "q"})
        assert [pair.query for pair in found.pairs] == ["q"]

    def test_what_was_left_out_and_what_is_short_is_counted(self):
        lists = {"A": {"p0": ["p0", "p4", "p1", "p2"]}, "B": {"p0": ["p1"]}}
        found = pool(lists, ["p0", "p9"], 2, "s", pieces=PIECES, same=["artist"])
        assert found.left_out == {"the query itself": 1, "same artist": 1}
        assert found.short(2) == [("A", "p9", 0), ("B", "p0", 1), ("B", "p9", 0)]
        assert dict(summarise_pool(found, 2)) == {
            "systems": 2,
            "queries": 2,
            "candidates returned": 3,
            "unique pairs": 2,
            "returned by 1 system": 1,
            "returned by 2 systems": 1,
            "left out: same artist": 1,
            "left out: the query itself": 1,
            "lists with fewer than 2": 3,
        }

    @pytest.mark.parametrize(
        ("lists", "options", "message"),
        [
            ({}, {}, "no system returned candidates"),
            ({"A": {"p0": ["new"]}}, {"pieces": PIECES, "same": ["artist"]}, "system 'A', query 'p0': 'new' is not in"),
            ({"A": {"p0": ["p1"]}}, {"same": ["artist"]}, "with the same artist needs the table of pieces"),
        ],
    )
    def test_what_cannot_be_pooled(self, lists, options, message):
        with pytest.raises(GradingError, match=message):
            pool(lists, ["p0"], 2, "s", **options)
        with pytest.raises(GradingError, match="no queries"):
            pool(lists, [], 2, "s")
        with pytest.raises(GradingError, match="invalid top 0"):
            pool(lists, ["p0"], 0, "s")


class TestFiles:
    FOUND = pool({"A": {"q": ["x", "y"]}, "B": {"q": ["y", "z"]}}, ["q"], 2, "secret")

    def test_what_graders_see_is_apart_from_the_key(self, tmp_path):
        path = tmp_path / "pool.csv"
        key = write_pool(self.FOUND, path)
        assert key == key_path(path)
        assert key.stat().st_mode & 0o077 == 0
        assert read_pairs(path) == self.FOUND.pairs
        assert not any(word in path.read_text() for word in ("secret", "A", "B", "x\n", "y\n", "z\n"))
        again = read_key(key)
        assert (again.returned, again.seed, again.queries) == (self.FOUND.returned, "secret", ("q",))

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ("q,c1,x,A,first\n", r":2: invalid rank: 'first'"),
            ("q,c1,x,A,1\nq,c1,y,B,1\n", r":3: 'c1' is 'x' elsewhere, and here 'y'"),
            ("q,c1,x,A,1\nq,c1,x,A,2\n", r":3: occurs twice, first on line 2"),
            ("q,c1,x,,1\n", r":2: missing value in column 'system'"),
        ],
    )
    def test_a_key_that_is_wrong(self, tmp_path, rows, message):
        path = tmp_path / "key.csv"
        path.write_text(f"query,candidate,piece,system,rank\n{rows}")
        with pytest.raises(InvalidAnnotationError, match=message):
            read_key(path)


class TestRankings:
    def test_lists_in_one_file_or_one_for_each_query(self, tmp_path):
        (tmp_path / "A.csv").write_text("query,item,rank\nq1,y,2\nq1,x,1\nq2,z,1\nq3,x,1\n")
        folder = tmp_path / "B"
        folder.mkdir()
        (folder / "q1.txt").write_text("x\nz\n")
        (folder / "q9.txt").write_text("x\n")
        found = read_rankings([f"{tmp_path}/A.csv", f"{tmp_path}/{{system}}/{{track}}.txt"], ["q1", "q2"])
        assert found == {"A": {"q1": ["x", "y"], "q2": ["z"]}, "B": {"q1": ["x", "z"]}}

    def test_matrices_of_distances_whose_items_are_files(self, tmp_path):
        (tmp_path / "near.txt").write_text(
            "distances\n1\t/a/p0.wav\n2\t/a/p1.wav\n3\t/a/p2.wav\nQ/R\t1\t2\t3\n"
            "1\t0\t0.5\t0.2\n2\t0.5\t0\t0.1\n3\t0.2\t0.1\t0\n"
        )
        found = read_rankings([f"{tmp_path}/{{system}}.txt"], ["p0", "p2"], ["p0", "p1", "p2"], format="matrix")
        assert found == {"near": {"p0": ["p2", "p1"], "p2": ["p1", "p0"]}}

    def test_similarities_in_a_file_of_numpy(self, tmp_path):
        similar = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.1], [0.9, 0.1, 1.0]])
        np.savez(tmp_path / "S.npz", similarities=similar, items=["p0", "p1", "p2"])
        assert read_rankings([f"{tmp_path}/S.npz"], ["p1"], format="matrix") == {"S": {"p1": ["p0", "p2"]}}

    def test_names_that_spreadsheets_compute_are_taken_of_the_table_of_pieces_alone(self, tmp_path):
        lists = tmp_path / "A.csv"
        lists.write_text("query,item\nq,-x.mp3\nq,y.mp3\n")
        assert read_rankings([str(lists)], ["q"], ["-x", "y"], trusted=False) == {"A": {"q": ["-x", "y"]}}
        assert read_rankings([str(lists)], ["q"])["A"]["q"][0] == "-x.mp3"
        with pytest.raises(InvalidAnnotationError, match=r"'-x\.mp3': spreadsheets read names") as refused:
            read_rankings([str(lists)], ["q"], ["x", "y"], trusted=False)
        assert refused.value.line == 2
        lists.rename(tmp_path / "=A.csv")
        with pytest.raises(InvalidAnnotationError, match="'=A': spreadsheets read names"):
            read_rankings([f"{tmp_path}/{{system}}.csv"], ["q"], ["-x", "y"], trusted=False)

    def test_names_with_folders_and_suffixes(self, tmp_path):
        (tmp_path / "A.csv").write_text("query,item\n/m/p0.mp3,/m/p1.mp3\n/m/p0.mp3,/m/p0.mp3\n")
        pieces = tmp_path / "pieces.csv"
        pieces.write_text("track\np0\np1\n")
        found = read_rankings([f"{tmp_path}/A.csv"], ["p0"], read_pieces(pieces).names)
        assert found == {"A": {"p0": ["p1", "p0"]}}

    def test_what_is_wrong(self, tmp_path):
        with pytest.raises(AnnotationError, match="matches nothing"):
            read_rankings([f"{tmp_path}/{{system}}.csv"], ["q"])
        (tmp_path / "A.csv").write_text("query,item\nq,x\nq,x\n")
        with pytest.raises(InvalidAnnotationError, match=r"A\.csv:3 \[q\]: 'x' occurs twice, first on line 2"):
            read_rankings([f"{tmp_path}/A.csv"], ["q"])
        (tmp_path / "A.csv").write_text("query,item\nq,x\n")
        with pytest.raises(AnnotationError, match=r"A\.csv.*duplicate list of system 'A' for 'q'"):
            read_rankings([f"{tmp_path}/A.csv"] * 2, ["q"])


def test_a_pool_of_the_size_of_ams_2007_is_made_in_a_moment():
    rng = np.random.default_rng(0)
    names = [str(number) for number in range(7000)]
    lists = {
        f"s{system}": {names[query]: [names[one] for one in rng.permutation(200)] for query in range(100)}
        for system in range(12)
    }
    found = pool(lists, names[:100], 5, "s")
    assert isinstance(found, Pool)
    assert len(found.returned) == 6000
