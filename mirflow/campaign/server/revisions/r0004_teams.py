"""Submissions belong to a team: the lab of their account, or the account itself."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the teams. The visibility "lab" meant all accounts; it now means the lab, or "private" without one."""
    op.add_column("submission", sa.Column("team", sa.Text(), nullable=False, server_default=""))
    op.create_index("ix_submission_team", "submission", ["team"])
    connection = op.get_bind()
    user = sa.table("user", sa.column("id"), sa.column("lab"))
    submission = sa.table("submission", sa.column("user_id"), sa.column("team"), sa.column("visibility"))
    for id, lab in connection.execute(sa.select(user.c.id, user.c.lab)).all():
        own, kept = submission.c.user_id == id, " ".join(lab.split())
        connection.execute(sa.update(user).where(user.c.id == id).values(lab=kept))
        team = f"lab {kept.casefold()}" if kept else f"account {id}"
        connection.execute(sa.update(submission).where(own).values(team=team))
        if not kept:
            seen = submission.c.visibility == "lab"
            connection.execute(sa.update(submission).where(own, seen).values(visibility="private"))
