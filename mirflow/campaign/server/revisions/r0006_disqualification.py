"""Organisers disqualify submissions, with a reason."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the reason."""
    op.add_column("submission", sa.Column("disqualified", sa.Text(), nullable=False, server_default=""))
