"""Annotations: their schemas, one annotation, collections of them, and common time grids."""

from ..plugins import names_on_use

__getattr__, __dir__ = names_on_use(__name__)
