"""The first tables, which are made from the declarations."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Change nothing."""
