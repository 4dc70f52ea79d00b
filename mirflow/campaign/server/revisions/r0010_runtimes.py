"""Submissions have the run time of their system."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the seconds."""
    op.add_column("submission", sa.Column("runtime", sa.Double()))
