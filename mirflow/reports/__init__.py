"""Answers made readable: tables as text, markdown, csv and json."""
