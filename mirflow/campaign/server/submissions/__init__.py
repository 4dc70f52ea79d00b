"""Submissions: upload, checks, scoring and release of scores."""
