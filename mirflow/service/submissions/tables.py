"""Tables of submissions in the database."""
