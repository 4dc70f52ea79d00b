"""Which scores of a hidden split are released, by rows of the database alone; where two estimates first differ."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from mirflow.annotations.annotation import Annotation
from mirflow.campaign.file import Split
from mirflow.campaign.server.database import Database, User
from mirflow.campaign.server.submissions.releases import climb, decimals_of, first_difference, release, rivals
from mirflow.campaign.server.submissions.submission_tables import Released, Submission

NOW = dt.datetime(2027, 1, 5, tzinfo=dt.UTC)
SPLIT = Split(root="test", hidden=True, round=0.001, ladder=0.005)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    database = Database(f"sqlite:///{tmp_path / 'campaign.db'}")
    database.create()
    with database.write() as session:
        session.add(User(id=1, name="ada", role="submitter", created=NOW))
        session.flush()
        yield session


def sent(session: Session, name: str, team: str = "ada") -> Submission:
    row = Submission(
        user_id=1, team=team, name=name, key=name, splits="test", visibility="public", received=NOW, sent_digest="",
        size=0, rules="1", mirflow="0",
    )  # fmt: skip
    session.add(row)
    session.flush()
    return row


def shown(session: Session, submission: Submission, values: dict[str, float], *, lower: bool = False) -> list[object]:
    """Release a score in each evaluation on the hidden split; what is then shown of each."""
    orientation = "lower" if lower else "higher"
    rows = {
        evaluation: [
            {
                "metric": "f",
                "value": value,
                "low": None,
                "high": None,
                "orientation": orientation,
                "tracks": 3,
                "asked": 4,
            }
        ]
        for evaluation, value in values.items()
    }
    release(session, submission, "test", SPLIT, rows, "1", NOW)
    found = {
        row.evaluation: row.value
        for row in session.scalars(select(Released).where(Released.submission_id == submission.number))
    }
    return [found[evaluation] for evaluation in values]


class TestTheLadder:
    def test_of_an_evaluation_is_not_climbed_in_another(self, session):
        assert shown(session, sent(session, "first"), {"chord": 0.5, "beat": 0.9}) == [0.5, 0.9]
        # 0.6 is better than 0.5 by more than the step, and 0.7 is not better than 0.9.
        assert shown(session, sent(session, "second"), {"chord": 0.6, "beat": 0.7}) == [0.6, None]

    def test_of_a_team_is_not_climbed_by_another(self, session):
        assert shown(session, sent(session, "ours"), {"chord": 0.8}) == [0.8]
        assert shown(session, sent(session, "theirs", "bob"), {"chord": 0.7}) == [0.7]

    def test_counts_the_best_of_all_earlier_scores(self, session):
        for name, value, seen in (("a", 0.8, 0.8), ("b", 0.5, None), ("c", 0.804, None), ("d", 0.805, 0.805)):
            assert shown(session, sent(session, name), {"chord": value}) == [seen]

    def test_of_a_metric_of_errors_goes_down(self, session):
        for name, value, seen in (("a", 0.3, 0.3), ("b", 0.2, 0.2), ("c", 0.25, None), ("d", 0.195, 0.195)):
            assert shown(session, sent(session, name), {"chord": value}, lower=True) == [seen]

    def test_shows_a_gain_of_exactly_the_step(self):
        assert 0.105 - 0.1 < 0.005  # in the last bits
        assert climb(0.105, 0.1, SPLIT) == 0.105
        assert climb(0.1, 0.105, SPLIT, lower_is_better=True) == 0.1
        assert climb(0.1049, 0.1, SPLIT) is None


class TestRivals:
    def test_are_the_best_earlier_one_of_the_team_and_the_best_public_one_of_others(self, session):
        sending = [
            ("b1", "bob", "public", 0.9), ("a1", "ada", "public", 0.7), ("a2", "ada", "public", 0.5),
            ("mine", "ada", "public", 0.6), ("b2", "bob", "public", 0.95), ("a3", "ada", "public", 0.99),
            ("b3", "bob", "private", 0.97),
        ]  # fmt: skip
        rows = {}
        for name, team, visibility, value in sending:
            rows[name] = row = sent(session, name, team)
            row.visibility, row.state = visibility, "scored"
            fixed = {"split": "test", "evaluation": "chord", "metric": "f", "rules": "1", "tracks": 4, "date": NOW}
            session.add(Released(submission_id=row.number, value=value, headline=True, **fixed))
        session.flush()
        found = {relation: other.name for relation, other in rivals(session, rows["mine"], "test")["chord"].items()}
        assert found == {"leader": "b2", "own": "a1"}


class TestDecimals:
    def test_of_hidden_splits_are_those_of_the_step_until_the_final_ranking(self):
        published = Split.model_validate(
            {"root": "x", "hidden": True, "final": {"frozen": "2027-01-01T00:00Z", "published": "2027-01-04T00:00Z"}}
        )
        assert decimals_of(SPLIT, NOW) == 3
        assert decimals_of(None, NOW) == 3  # a split that the campaign no longer has
        assert decimals_of(Split(root="dev"), NOW) is None
        assert decimals_of(published, NOW) is None
        assert decimals_of(published, dt.datetime(2027, 1, 3, tzinfo=dt.UTC)) == 3


class TestAReleasedRow:
    def test_has_the_exact_score_apart_from_the_shown_one(self, session):
        shown(session, sent(session, "a"), {"chord": 0.81549})
        (row,) = session.scalars(select(Released)).all()
        assert (row.value, row.true_value, row.tracks, row.improved) == (0.815, 0.81549, 4, True)

    def test_is_never_written_again(self, session):
        submission = sent(session, "a")
        shown(session, submission, {"chord": 0.8})
        assert shown(session, submission, {"chord": 0.9}) == [0.8]


def beats(*times: float) -> Annotation:
    return Annotation("events", {"time": np.array(times)})


def chords(*ends: float, labels: str = "CG") -> Annotation:
    starts = np.array([0.0, *ends[:-1]])
    return Annotation("intervals", {"start": starts, "end": np.array(ends)}, [*labels])


def frames(*pitches: list[float]) -> Annotation:
    times, flat = np.arange(len(pitches)) / 2, np.array([one for own in pitches for one in own])
    return Annotation("multipitch", {"time": times, "frequency": flat}, None, (np.array([*map(len, pitches)]),))


def tempi(*bpm: float) -> Annotation:
    return Annotation("tempo", {"tempo": np.array(bpm), "salience": np.array([0.5, 0.5])})


@pytest.mark.parametrize(
    ("one", "other", "second"),
    [
        (beats(1, 2, 3), beats(1, 2.25, 3), 2.0),
        (beats(1, 2), beats(1, 2, 2.5), 2.5),
        (beats(), beats(), None),
        (chords(1, 4), chords(1, 3), 3.0),
        (chords(1, 4), chords(1, 4, labels="CA"), 1.0),
        (chords(1, 4), chords(2, 4), 1.0),
        (frames([440], [220]), frames([440], [220, 330]), 0.5),
        (frames([440], []), frames([440], []), None),
        (tempi(60, 120), tempi(60, 121), None),  # nothing that has a time
    ],
)
def test_estimates_differ_from_a_second_on(one, other, second):
    assert first_difference(one, other) == second
    assert first_difference(other, one) == second
    assert first_difference(one, one) is None
