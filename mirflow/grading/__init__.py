"""Judgements of similarity by people: from the lists of systems to tables that are scored."""
