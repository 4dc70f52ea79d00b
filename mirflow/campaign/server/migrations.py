"""Migrations of the database of a campaign: which revision its tables have, and the steps to the newest one.

Revisions are the files of `revisions`, applied by Alembic without its command line. A change of the tables is a new
file there beside the changed declaration; ``tests/campaign/server/test_migrations.py`` compares the two.
"""

from __future__ import annotations

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

__all__ = ["BASELINE", "newest", "revision_of", "revisions", "stamp", "upgrade"]

BASELINE = "0001"
"""Revision of databases that were made before revisions were kept, in a table with a number."""
_TABLE = "version"


def _scripts() -> ScriptDirectory:
    folder = Path(__file__).with_name("revisions")
    return ScriptDirectory(folder, version_locations=[folder])


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": _TABLE})


def revisions() -> list[str]:
    """All revisions that this version of mirflow knows, the oldest first."""
    return [script.revision for script in _scripts().walk_revisions()][::-1]


def newest() -> str:
    """The revision that the declared tables have."""
    head = _scripts().get_current_head()
    assert head is not None
    return head


def revision_of(connection: Connection) -> str | None:
    """The revision of a database; None if it has no tables."""
    inspector = inspect(connection)
    if not inspector.has_table(_TABLE):
        return None
    if any(column["name"] == "number" for column in inspector.get_columns(_TABLE)):
        return BASELINE
    return _context(connection).get_current_revision()


def stamp(connection: Connection) -> None:
    """Note that the tables were made from the declarations."""
    _context(connection).stamp(_scripts(), "head")


def upgrade(connection: Connection) -> list[str]:
    """Apply all revisions that a database lacks, in the transaction of the connection.

    Foreign keys of SQLite have to be off, as tables are made anew under their names.

    Returns
    -------
    list of str
        The revisions that were applied.
    """
    before, scripts = revision_of(connection), _scripts()
    if before == BASELINE:
        connection.exec_driver_sql(f"DROP TABLE {_TABLE}")
    steps = list(scripts.iterate_revisions("head", before))[::-1]
    context = _context(connection)
    with Operations.context(context):
        for step in steps:
            step.module.upgrade()
    context.stamp(scripts, "head")
    return [step.revision for step in steps]
