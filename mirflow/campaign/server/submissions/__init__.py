"""Submissions: what is sent, whether it can be scored, and its scores."""
