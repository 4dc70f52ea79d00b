"""Migrations of the database of a campaign: the revision of its tables, and the steps to the newest one.

Revisions are the modules of `revisions`, applied by Alembic without its command line. A changed table needs a new
module there; ``tests/campaign/server/test_migrations.py`` compares the result with the declarations.
"""

from __future__ import annotations

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

__all__ = ["FOLDER", "newest", "revision_of", "revisions", "stamp", "upgrade"]

FOLDER = Path(__file__).with_name("revisions")
_TABLE = "version"


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(FOLDER, version_locations=[FOLDER])


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": _TABLE})


def revisions() -> list[str]:
    """List all revisions known to this version of mirflow, oldest first."""
    return [script.revision for script in _scripts().walk_revisions()][::-1]


def newest() -> str:
    """Return the revision of the declared tables."""
    head = _scripts().get_current_head()
    assert head is not None
    return head


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database; None if it has no tables."""
    return _context(connection).get_current_revision()


def stamp(connection: Connection) -> None:
    """Record that the tables were created from the declarations."""
    _context(connection).stamp(_scripts(), "head")


def upgrade(connection: Connection) -> list[str]:
    """Apply all missing revisions within the transaction of the connection.

    On SQLite, foreign keys have to be off, since tables are recreated under their names.
    """
    before, scripts = revision_of(connection), _scripts()
    steps = list(scripts.iterate_revisions("head", before))[::-1]
    context = _context(connection)
    with Operations.context(context):
        for step in steps:
            step.module.upgrade()
    context.stamp(scripts, "head")
    return [step.revision for step in steps]
