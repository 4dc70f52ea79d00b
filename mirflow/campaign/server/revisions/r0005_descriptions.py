"""Submissions have a description, and links to a paper and to code."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns."""
    for name in ("description", "paper", "code"):
        op.add_column("submission", sa.Column(name, sa.Text(), nullable=False, server_default=""))
