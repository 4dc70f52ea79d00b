"""Revisions of the database of a campaign: one file for each change of the tables, applied by Alembic."""
