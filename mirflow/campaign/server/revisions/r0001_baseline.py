"""The tables of databases whose version was a number: 1. They were made from the declarations."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Change nothing."""
