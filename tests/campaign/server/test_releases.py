"""Which scores of a hidden split are released, by rows of the database alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from mirflow.campaign.file import Split
from mirflow.campaign.server.database import Database, User
from mirflow.campaign.server.submissions.releases import climb, release
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
    def test_of_an_evaluation_is_not_climbed_in_another(self, session: Session) -> None:
        assert shown(session, sent(session, "first"), {"chord": 0.5, "beat": 0.9}) == [0.5, 0.9]
        # 0.6 is better than 0.5 by more than the step, and 0.7 is not better than 0.9.
        assert shown(session, sent(session, "second"), {"chord": 0.6, "beat": 0.7}) == [0.6, None]

    def test_of_a_team_is_not_climbed_by_another(self, session: Session) -> None:
        assert shown(session, sent(session, "ours"), {"chord": 0.8}) == [0.8]
        assert shown(session, sent(session, "theirs", "bob"), {"chord": 0.7}) == [0.7]

    def test_counts_the_best_of_all_earlier_scores(self, session: Session) -> None:
        for name, value, seen in (("a", 0.8, 0.8), ("b", 0.5, None), ("c", 0.804, None), ("d", 0.805, 0.805)):
            assert shown(session, sent(session, name), {"chord": value}) == [seen]

    def test_of_a_metric_of_errors_goes_down(self, session: Session) -> None:
        for name, value, seen in (("a", 0.3, 0.3), ("b", 0.2, 0.2), ("c", 0.25, None), ("d", 0.195, 0.195)):
            assert shown(session, sent(session, name), {"chord": value}, lower=True) == [seen]

    def test_shows_a_gain_of_exactly_the_step(self) -> None:
        assert 0.105 - 0.1 < 0.005  # in the last bits
        assert climb(0.105, 0.1, SPLIT) == 0.105
        assert climb(0.1, 0.105, SPLIT, lower_is_better=True) == 0.1
        assert climb(0.1049, 0.1, SPLIT) is None


class TestAReleasedRow:
    def test_has_the_exact_score_apart_from_the_shown_one(self, session: Session) -> None:
        shown(session, sent(session, "a"), {"chord": 0.81549})
        (row,) = session.scalars(select(Released)).all()
        assert (row.value, row.true_value, row.tracks, row.improved) == (0.815, 0.81549, 4, True)

    def test_is_never_written_again(self, session: Session) -> None:
        submission = sent(session, "a")
        shown(session, submission, {"chord": 0.8})
        assert shown(session, submission, {"chord": 0.9}) == [0.8]
