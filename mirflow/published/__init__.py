"""Scores that others published, read by mapping files and brought into stores."""
