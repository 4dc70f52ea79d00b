"""Judgements as they were made, and what is left of them when a round is closed."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path

import pytest
import xarray as xr

from mirflow.analysis.judgements import fine_within_broad, grader_agreement
from mirflow.campaign.grading.judgement_tables import (
    GraderJudgement,
    close,
    latest,
    read_events,
    read_judgements,
    to_time,
    write_closed,
    write_judgements,
)
from mirflow.campaign.grading.pool import Pool, pool
from mirflow.campaign.grading.query_draw import read_table
from mirflow.campaign.grading.rater_agreement import group_candidates, reliability
from mirflow.errors import GradingError, InvalidAnnotationError, MirflowError
from mirflow.store.read import read_scores

from ...commands import invoke

KEY = pool({"A": {"q1": ["x", "y"], "q2": ["x", "z"]}, "B": {"q1": ["y", "x"], "q2": ["z", "y"]}}, ["q1", "q2"], 2, "s")
ID = {(one.query, one.piece): one.candidate for one in KEY.returned}


def said(
    grader: str, query: str, piece: str, broad: str = "", fine: float | None = None, **more: bool
) -> GraderJudgement:
    return GraderJudgement(grader, query, ID[query, piece], broad, fine, **more)


EVERYTHING = [
    said(grader, query, piece, "VS", 9.0)
    for grader in ("ada", "bob")
    for query, piece in (("q1", "x"), ("q1", "y"), ("q2", "x"), ("q2", "y"), ("q2", "z"))
]


class TestLatest:
    def test_by_time_whatever_the_order_in_which_they_arrive(self):
        noon, later = to_time("2027-03-01T12:00:00Z"), to_time("2027-03-01T14:00:00+01:00")
        changed = [GraderJudgement("g", "q", "a", "VS", time=later), GraderJudgement("g", "q", "a", "NS", time=noon)]
        assert [one.broad for one in latest(changed)] == ["VS"]

    def test_a_repeat_is_another_assignment(self):
        both = [GraderJudgement("g", "q", "a", "VS"), GraderJudgement("g", "q", "a", "NS", repeat=True)]
        assert latest(both) == both


class TestFile:
    def test_round_trip(self, tmp_path):
        time = datetime.fromisoformat("2027-03-01T12:03:41.250000+00:00")
        rows = [
            GraderJudgement("ada", "q, 1", "c", "SS", 6.1, known=True, time=time),
            GraderJudgement("ada", "q", "c", repeat=True, cannot_hear=True),
        ]
        write_judgements(rows, tmp_path / "j.csv")
        assert read_judgements(tmp_path / "j.csv") == rows

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (
                "g,q,c,XS,5,",
                r":2: invalid broad category 'XS': choose from NS, SS, VS \(grader 'g', query 'q', candidate 'c'\)",
            ),
            ("g,q,c,VS,high,", r":2: the fine judgement is not a number: 'high'"),
            ("g,q,c,VS,inf,", r":2: the fine judgement is not finite"),
            ("g,q,c,VS,5,monday", r":2: invalid time 'monday'"),
            ("g,q,c,VS,5,,80%", r":2: invalid heard '80%': expected a share from 0 to 1"),
            ("g,q,c,VS,5,,1.5", r":2: invalid heard '1.5': expected a share from 0 to 1"),
            (",q,c,VS,5,", r":2: missing value in column 'grader'"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_line(self, tmp_path, row, message):
        path = tmp_path / "j.csv"
        columns = ["grader", "query", "candidate", "broad", "fine", "time", "heard"][: row.count(",") + 1]
        path.write_text(f"{','.join(columns)}\n{row}\n")
        with pytest.raises(InvalidAnnotationError, match=message):
            read_judgements(path)

    def test_there_has_to_be_a_judgement(self, tmp_path):
        path = tmp_path / "j.csv"
        path.write_text("grader,query,candidate\ng,q,c\n")
        with pytest.raises(InvalidAnnotationError, match="expected broad, fine, or both"):
            read_judgements(path)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("{", ":2: invalid JSON"),
            ("[1]", ":2: invalid event .*: expected an object with a time and a grader"),
            ('{"time": "noon", "grader": "g"}', ":2: invalid time 'noon'"),
        ],
    )
    def test_events_that_are_none(self, tmp_path, line, message):
        path = tmp_path / "events.jsonl"
        path.write_text('{"time": "2027-03-01", "grader": "g", "event": "came"}\n' + line + "\n")
        with pytest.raises(MirflowError, match=message):
            read_events(path)


class TestClose:
    def test_pieces_take_the_place_of_ids_and_numbers_that_of_names(self):
        closed = close(EVERYTHING, KEY)
        assert {one.grader for one in closed.judgements} == {"grader 1", "grader 2"}
        assert [(one.query, one.candidate) for one in closed.judgements[::2]] == [
            ("q1", "x"),
            ("q1", "y"),
            ("q2", "x"),
            ("q2", "y"),
            ("q2", "z"),
        ]
        assert closed.counts == {"graders": 2, "pairs": 5, "pairs without a judgement": 0, "judgements": 10}
        assert {one.grader for one in close(EVERYTHING, KEY, names=True).judgements} == {"ada", "bob"}

    def test_the_numbers_of_graders_do_not_follow_their_names(self):
        graders = [f"g{number}" for number in range(9)]
        rows = [said(grader, "q1", "x", "VS", float(place)) for place, grader in enumerate(graders)]
        fine = {one.grader: one.fine for one in close(rows, KEY).judgements}
        assert [fine[f"grader {number}"] for number in range(1, 10)] != list(range(9))

    def test_what_does_not_count_is_counted(self):
        rows = [
            *EVERYTHING,
            said("ada", "q1", "x", "NS", 1.0),  # changed her mind
            said("ada", "q1", "y", "NS", 1.0, repeat=True),
            said("cy", "q1", "x", "SS", 5.0, cannot_hear=True),
            said("cy", "q1", "y", "SS", 5.0, known=True),
            said("cy", "q2", "y"),
            said("dee", "q1", "x", "SS", 5.0, known=True),
        ]
        closed = close(rows, KEY, withdrawn=["dee"], names=True)
        assert closed.counts == {
            "graders": 3,
            "pairs": 5,
            "pairs without a judgement": 0,
            "judgements": 11,
            "assigned and not judged": 1,
            "could not be heard": 1,
            "hidden repeats": 1,
            "of graders who withdrew": 1,
            "of pieces that the grader knew": 1,
        }
        assert [
            one.fine for one in closed.judgements if (one.grader, one.candidate, one.query) == ("ada", "x", "q1")
        ] == [1.0]
        strict = close(rows, KEY, withdrawn=["dee"], known="leave out")
        assert strict.counts["judgements"] == 10
        assert strict.counts["left out, as the grader knew the piece"] == 1

    def test_a_judgement_counts_for_the_query_and_its_mutations(self, tmp_path):
        lists = {"A": {"q": ["x", "y"], "q-cut": ["y", "z"]}}
        key = pool(lists, ["q", "q-cut"], 2, "s", judged_as={"q-cut": "q"})
        fine = {"x": 1.0, "y": 2.0}
        pieces = key.pieces
        rows = [
            GraderJudgement("ada", "q", pair.candidate, "SS", fine[pieces[pair.candidate]])
            for pair in key.pairs
            if pieces[pair.candidate] in fine
        ]
        closed = close(rows, key)
        assert [(one.query, one.candidate, one.fine) for one in closed.judgements] == [
            ("q", "x", 1.0),
            ("q", "y", 2.0),
            ("q-cut", "x", 1.0),
            ("q-cut", "y", 2.0),
        ]
        assert closed.unjudged == (("q", "z"),)
        assert (closed.counts["pairs"], closed.counts["pairs without a judgement"]) == (3, 1)
        found = scores(write_closed(closed, key, tmp_path / "closed", unjudged="skip"))
        cut = found["score"].sel(track="q-cut", metric="fine@2(unjudged=skip)")
        assert cut.item() == pytest.approx(0.2)

    def test_among_graders_a_judgement_of_a_query_and_its_mutations_is_one(self, tmp_path):
        lists = {"A": {"q": ["x", "y"], "q-cut": ["y", "z"], "p-cut": ["x"], "p-add": ["x", "y"]}}
        heard = {"q-cut": "q", "p-cut": "p", "p-add": "p"}
        broad = {("q", "x"): "NS", ("q", "y"): "SS", ("q", "z"): "VS", ("p", "x"): "VS", ("p", "y"): "NS"}
        # Of p only mutations were drawn.
        key = pool(lists, [*lists["A"]], 2, "s", judged_as=heard)
        rows = [
            GraderJudgement(grader, pair.query, pair.candidate, broad[pair.query, key.pieces[pair.candidate]], fine)
            for fine, grader in enumerate(["ada", "bob"])
            for pair in key.pairs
        ]
        write_closed(close(rows, key), key, tmp_path)
        path = tmp_path / "judgements.csv"
        marked = {(one["query"], one["judged_as"]) for one in csv.DictReader(path.read_text().splitlines())}
        assert marked == {("q", ""), ("q-cut", "q"), ("p-cut", "p"), ("p-add", "p")}
        agreement = grader_agreement(path)
        assert (agreement["graded"].values.tolist(), agreement["kappa"].values.tolist()) == ([5, 5], [1, 1])
        assert fine_within_broad(path)["n"].values.tolist() == [4, 2, 4]
        assert set(reliability(path)["compared"].values.tolist()) == {5}
        assert {one.query for one in group_candidates(path).candidates} == {*lists["A"]}

    def test_pairs_that_nobody_judged_are_named(self):
        closed = close(EVERYTHING[:3], KEY)
        assert closed.unjudged == (("q2", "y"), ("q2", "z"))

    def test_the_key_of_another_pool(self):
        other = Pool(KEY.queries, KEY.returned[:1], "s")
        with pytest.raises(GradingError, match=r"grader 'ada': candidate '\w+' of query 'q1' is not in the key"):
            close(EVERYTHING, other)
        with pytest.raises(GradingError, match="no judgements are left"):
            close(EVERYTHING, KEY, withdrawn=["ada", "bob"])


def scores(pipeline: Path) -> xr.Dataset:
    """The scores of a pipeline, in the folder above its own."""
    store = pipeline.parent.with_suffix(".zarr")
    invoke("run", pipeline, "--store", store, "--quiet")
    return read_scores(store)["similarity"]


class TestClosedFolder:
    def test_it_is_scored_as_it_stands(self, tmp_path):
        rows = [said("ada", one.query, one.piece, "VS" if one.piece == "x" else "SS", 8.0) for one in KEY.returned]
        pipeline = write_closed(close(rows, KEY), KEY, tmp_path / "closed")
        ds = scores(pipeline)
        fine = ds.score.sel(metric="fine@2")
        assert (fine == 0.8).all()
        greater1 = ds.score.sel(metric="greater1@2").mean("track")
        assert greater1.sel(system="A").item() == 0.5  # x of q1 and of q2 of four places
        assert greater1.sel(system="B").item() == 0.25
        assert grader_agreement(tmp_path / "closed" / "judgements.csv").graded.values.tolist() == [5, 5]

    def test_unjudged_candidates_and_another_scale(self, tmp_path):
        closed = close([said("ada", "q1", "x", fine=80.0)], KEY)
        pipeline = write_closed(closed, KEY, tmp_path / "closed", unjudged="zero", scale=100)
        assert 'metrics: ["fine@2(scale=100,unjudged=zero)"]' in pipeline.read_text()
        ds = scores(pipeline)
        assert ds.score.squeeze("metric").sel(track="q1").values.tolist() == [0.4, 0.4]
        with pytest.raises(GradingError, match="80 is not from 0 to 10; give the scale"):
            write_closed(closed, KEY, tmp_path / "closed")

    def test_events_are_kept_without_names_and_without_who_withdrew(self, tmp_path):
        log = tmp_path / "log.jsonl"
        who = ["ada", "bob", "dee", "eve", "eve"]
        log.write_text(
            "".join(json.dumps({"time": "2027-03-01T12:00Z", "grader": one, "event": "came"}) + "\n" for one in who)
        )
        closed = close([*EVERYTHING, said("dee", "q1", "x", "NS")], KEY, withdrawn=["dee"])
        write_closed(closed, KEY, tmp_path / "closed", events=log)
        found = read_events(tmp_path / "closed" / "events.jsonl")
        called = closed.called
        assert [one.grader for one in found] == [called["ada"], called["bob"], "guest 1", "guest 1"]

    def test_lists_of_other_systems_are_not_scored_along(self, tmp_path):
        closed = close(EVERYTHING, KEY)
        write_closed(closed, KEY, tmp_path / "closed")
        write_closed(closed, KEY, tmp_path / "closed")
        (tmp_path / "closed" / "lists" / "C.csv").write_text("query,candidate\n")
        with pytest.raises(GradingError, match=r"C\.csv belongs to another system"):
            write_closed(closed, KEY, tmp_path / "closed")

    def test_nothing_is_written_if_the_log_of_events_cannot_be_read(self, tmp_path):
        (tmp_path / "log.jsonl").write_text("{")
        with pytest.raises(MirflowError, match=r"log\.jsonl:1: invalid JSON"):
            write_closed(close(EVERYTHING, KEY), KEY, tmp_path / "closed", events=tmp_path / "log.jsonl")
        assert not (tmp_path / "closed").exists()

    def test_names_that_begin_with_a_number_sign_are_no_comments(self, tmp_path):
        key = pool({"A": {"#9": ["#1"]}}, ["#9"], 1, "s")
        row = GraderJudgement("ada", "#9", key.returned[0].candidate, "VS", 9.0)
        write_closed(close([row], key), key, tmp_path / "closed")
        assert read_table(tmp_path / "closed" / "judgements.csv").rows == (("#9", "#1", "grader 1", "VS", "9.0"),)
        ds = scores(tmp_path / "closed" / "similarity.yaml")
        assert ds.score.sel(metric="fine@1").item() == pytest.approx(0.9)
