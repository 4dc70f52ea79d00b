"""Readers: from files to annotations, and back."""
