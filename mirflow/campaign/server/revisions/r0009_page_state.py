"""A token tells whether cached pages of results are up to date."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the table of the token; its row is written with the first change."""
    op.create_table(
        "page_state",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("token", sa.Text(), nullable=False),
    )
