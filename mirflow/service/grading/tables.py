"""Tables of judgements in the database."""
