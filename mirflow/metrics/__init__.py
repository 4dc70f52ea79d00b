"""Metrics: a room per task, and what they share."""
