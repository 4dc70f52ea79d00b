"""True scores on hidden splits are kept beside the released ones, and a score that is kept back has no value."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the true scores, and remove the released values of scores that were kept back."""
    for name in ("true_value", "true_low", "true_high"):
        op.add_column("released", sa.Column(name, sa.Double()))
    # Leaders were often systems that were listed with the best score of their account.
    op.execute(
        "DELETE FROM verdict WHERE EXISTS (SELECT 1 FROM released WHERE NOT released.improved "
        "AND released.submission_id = verdict.other_id AND released.split = verdict.split "
        "AND released.evaluation = verdict.evaluation AND released.metric = verdict.metric)"
    )
    op.execute("UPDATE released SET value = NULL WHERE NOT improved")
