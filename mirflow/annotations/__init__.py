"""Annotations: their schemas, one annotation, collections of them, and common time grids."""
