"""Assignments: balance at any moment, repeats, orders of graders, table 5 of the MIREX chapter."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.campaign.grading.assignment import (
    APART,
    Assignment,
    Pair,
    Plan,
    assign,
    grader_seed,
    next_assignments,
    read_plan,
    summarise,
    write_plan,
)
from mirflow.campaign.grading.query_draw import read_table
from mirflow.errors import GradingError, InvalidAnnotationError


def pool(queries: int, candidates: int) -> list[Pair]:
    return [Pair(f"q{query}", f"c{query}-{one}") for query in range(queries) for one in range(candidates)]


PAIRS = st.sets(st.builds(Pair, st.sampled_from(["q1", "q2", "q3"]), st.sampled_from("abcdef")), min_size=1)
BY = st.sampled_from(["query", "pair"])


def fresh(plan: Plan) -> list[tuple[str, Pair]]:
    return [(grader, one.pair) for grader, one in plan.given if not one.repeat]


class TestPlan:
    @settings(deadline=None)
    @given(PAIRS, st.integers(1, 5), st.integers(0, 4), BY, st.sampled_from([0.0, 0.2, 1.0]), st.integers(0, 99))
    def test_counts_differ_by_at_most_one_after_any_assignment(self, pairs, each, more, by, repeats, seed):
        graders = [f"g{number}" for number in range(each + more)]
        plan = assign(pairs, graders, each, by=by, repeats=repeats, seed=seed)
        counts = Counter(dict.fromkeys(pairs, 0))
        for _, pair in fresh(plan):
            counts[pair] += 1
            assert max(counts.values()) - min(counts.values()) <= 1
        assert set(counts.values()) == {each}
        assert max(Counter(fresh(plan)).values()) == 1  # nobody judges a pair as a new one twice

    @settings(deadline=None)
    @given(PAIRS, BY, st.integers(0, 99), st.randoms())
    def test_the_order_of_the_pool_does_not_matter(self, pairs, by, seed, random):
        shuffled = list(pairs)
        random.shuffle(shuffled)
        assert assign(sorted(pairs), ["a", "b"], 2, by=by, seed=seed) == assign(
            shuffled, ["a", "b"], 2, by=by, seed=seed
        )

    def test_a_grader_judges_whole_queries(self):
        plan = assign(pool(9, 4), ["a", "b", "c"], 2, seed=3)
        for grader in plan.graders:
            queries = [one.query for one in plan.of(grader)]
            assert Counter(queries) == dict.fromkeys(queries, 4)
            assert len(list(groupby(queries))) == len(set(queries))

    def test_graders_have_orders_of_their_own(self):
        plan = assign(pool(4, 5), ["a", "b"], 2, seed=1)
        one, other = plan.of("a"), plan.of("b")
        assert set(one) == set(other)
        assert one != other
        assert grader_seed(1, "a") != grader_seed(1, "b")
        assert assign(pool(4, 5), ["a", "b"], 2, seed=2).of("a") != one

    @pytest.mark.parametrize("by", ["query", "pair"])
    def test_work_is_shared_evenly(self, by):
        plan = assign(pool(20, 7), [f"g{number}" for number in range(8)], 3, by=by, seed=5)
        least, mean, most = summarise(plan).pairs_per_grader
        assert mean == 20 * 7 * 3 / 8
        assert most - least <= (7 if by == "query" else 1)

    def test_queries_of_different_sizes_are_shared_evenly(self):
        pairs = [Pair(f"q{query}", f"c{one}") for query in range(100) for one in range(40 + query * 7 % 17)]
        plan = assign(pairs, [f"g{number}" for number in range(20)])
        counts = Counter(grader for grader, _ in plan.given)
        assert max(counts.values()) - min(counts.values()) <= 3

    def test_repeats_are_a_share_apart_from_their_first_and_of_the_same_grader(self):
        plan = assign(pool(30, 6), ["a", "b", "c"], 2, by="query", repeats=0.05, seed=9)
        for grader in plan.graders:
            given = plan.of(grader)
            again = [place for place, one in enumerate(given) if one.repeat]
            assert len(again) == int(0.05 * (len(given) - len(again)))
            for place in again:
                first = given.index(Assignment(*given[place].pair))
                assert place - first > APART
                assert given[place - 1].query != given[place].query or given[place - 1].repeat
        assert summarise(plan).judgements == 360

    def test_of_a_single_query_repeats_come_last(self):
        plan = assign(pool(1, 40), ["a"], repeats=0.1)
        assert [one.repeat for one in plan.of("a")] == [False] * 40 + [True] * 4

    @pytest.mark.parametrize(
        ("queries", "unique", "graders", "each", "pairs_a_grader"),
        # Queries, unique pairs and graders of AMS07; and of AMS06, whose judgements a grader table 5 counts otherwise.
        [(100, 4832, 20, 1, 241.6), (60, 1629, 24, 3, 203.625)],
    )
    def test_table_5(self, queries, unique, graders, each, pairs_a_grader):
        pairs = [Pair(f"q{number % queries}", str(number)) for number in range(unique)]
        found = summarise(assign(pairs, [f"g{number}" for number in range(graders)], each, seed=7))
        assert (found.queries, found.pairs, found.judgements) == (queries, unique, unique * each)
        assert found.pairs_per_grader[1] == pytest.approx(pairs_a_grader)
        assert found.queries_per_grader[1] == queries * each / graders
        assert found.hours == pytest.approx(unique * each / 60)

    def test_more_than_240_minutes_is_not_feasible(self):
        assert summarise(assign(pool(4, 60), ["a"])).feasible
        assert not summarise(assign(pool(4, 60), ["a"]), minutes=1.01).feasible

    def test_as_csv(self, tmp_path):
        plan = assign(pool(2, 2), ["b", "a"], 2, repeats=0.5, seed=4)
        write_plan(plan, tmp_path / "plan.csv", 1.5)
        table = read_table(tmp_path / "plan.csv")
        assert table.notes == {"seed": "4", "graders per pair": "2", "minutes": "1.5"}
        assert table.columns == ("grader", "place", "query", "candidate", "repeat")
        rows = [(one.query, one.candidate, str(int(one.repeat))) for one in plan.of("b")]
        assert [row[2:] for row in table.rows if row[0] == "b"] == rows
        assert table.column("grader")[0] == "b"

    def test_is_read_back(self, tmp_path):
        plan = assign(pool(4, 4), ["b", "a"], 2, repeats=0.5, seed=4)
        write_plan(plan, tmp_path / "plan.csv", 1.5)
        found, minutes = read_plan(tmp_path / "plan.csv")
        assert minutes == 1.5
        assert (found.graders, found.graders_per_pair, found.seed) == (("b", "a"), 2, 4)
        assert [found.of(name) for name in "ab"] == [plan.of(name) for name in "ab"]
        assert summarise(found) == summarise(plan)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("grader,query,candidate,repeat\na,q,c,2\n", r"plan\.csv:2: invalid repeat '2': expected 0 or 1"),
            ("# seed: x\ngrader,query,candidate,repeat\na,q,c,0\n", "invalid number in the notes: .*'x'"),
            ("grader,query,candidate,repeat\n", "contains no assignments"),
            ("grader,query,candidate\n", "no column 'repeat'"),
        ],
    )
    def test_tables_that_are_no_plan(self, tmp_path, text, message):
        (tmp_path / "plan.csv").write_text(text)
        with pytest.raises(InvalidAnnotationError, match=message):
            read_plan(tmp_path / "plan.csv")

    @pytest.mark.parametrize(
        ("pairs", "graders", "settings_", "message"),
        [
            ([], ["a"], {}, "no pairs to judge"),
            ([Pair("q", "a")], ["a", "a"], {}, "duplicate grader: 'a'"),
            ([Pair("q", "a")], ["a"], {"graders_per_pair": 2}, "each pair needs 2 graders, but there are only 1"),
            ([Pair("q", "a")], ["a"], {"graders_per_pair": 0}, "graders_per_pair must be at least 1"),
            ([Pair("q", "a")], ["a"], {"repeats": 1.5}, r"a share from 0 to 1, not 1\.5"),
        ],
    )
    def test_what_cannot_be(self, pairs, graders, settings_, message):
        with pytest.raises(GradingError, match=message):
            assign(pairs, graders, **settings_)


class TestOnLine:
    @settings(deadline=None, max_examples=40)
    @given(st.data(), BY, st.integers(1, 3))
    def test_graders_who_come_as_they_like_leave_balanced_counts(self, data, by, each):
        pairs = pool(3, 4)
        judged = Counter(dict.fromkeys(pairs, 0))
        history: dict[str, list[Assignment]] = {f"g{number}": [] for number in range(each + 2)}
        for _ in range(40):
            name = data.draw(st.sampled_from(sorted(history)))
            seed = grader_seed(1, name)
            for one in next_assignments(judged, history[name], each, by=by, seed=seed, repeats=0.1):
                history[name].append(one)
                judged[one.pair] += not one.repeat
                assert max(judged.values()) - min(judged.values()) <= 1
                assert max(judged.values()) <= each

    def test_what_was_left_without_judging_is_given_to_another_first(self):
        pairs = pool(2, 3)
        counts = dict.fromkeys(pairs, 1)
        counts[pairs[4]] = 0
        assert next_assignments(counts, [], 2) == (Assignment(*pairs[4]),)

    def test_who_has_judged_the_least_judged_waits_or_goes_ahead(self):
        counts = {Pair("q1", "a"): 0, Pair("q2", "b"): 1}
        had = [Assignment("q1", "a")]  # and could not hear it
        assert next_assignments(counts, had, 2) == ()
        assert next_assignments(counts, had, 2, spread=2) == (Assignment("q2", "b"),)

    def test_single_pairs_stay_with_the_query(self):
        counts = dict.fromkeys(pool(5, 4), 0)
        history: list[Assignment] = []
        while turn := next_assignments(counts, history, by="pair", seed=2):
            history += turn
            counts[turn[0].pair] += 1
        queries = [one.query for one in history]
        assert [len(list(run)) for _, run in groupby(queries)] == [4] * 5

    def test_nothing_is_left(self):
        assert next_assignments({Pair("q", "a"): 1}, []) == ()

    def test_a_pair_that_left_the_pool_stays_in_the_history(self):
        assert next_assignments({Pair("q", "a"): 0}, [Assignment("gone", "x")], repeats=1.0) == (Assignment("q", "a"),)
