"""Workers report to the server."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the table of workers."""
    op.create_table(
        "worker",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("began", sa.DateTime(), nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
    )
