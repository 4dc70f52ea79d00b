"""Scores of data in memory and of files: whole datasets, single pairs, streams of batches."""
