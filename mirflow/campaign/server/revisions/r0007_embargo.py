"""Submissions that are to be public are held until the embargo of their splits ends."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the mark."""
    op.add_column("submission", sa.Column("held", sa.Boolean(), nullable=False, server_default=sa.false()))
