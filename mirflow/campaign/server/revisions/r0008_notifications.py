"""Notify organisers and submitters of events of submissions; let accounts have an address for mail."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the addresses, and the table of messages."""
    op.add_column("user", sa.Column("mail", sa.Text(), nullable=False, server_default=""))
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "notification",
        sa.Column("id", number, primary_key=True),
        sa.Column("key", sa.Text(), nullable=False, unique=True),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("submission_id", number, sa.ForeignKey("submission.number"), nullable=False, index=True),
        sa.Column("user_id", number, sa.ForeignKey("user.id"), index=True),
        sa.Column("date", sa.DateTime(), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=False),
        sa.Column("tries", number, nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("sent", sa.DateTime()),
        sa.Column("lost", sa.DateTime()),
    )
    op.create_index("notification_due", "notification", ["channel", "due"])
