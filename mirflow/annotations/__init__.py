"""Annotations: their schemas, one annotation, collections of them, and common time grids."""

from ..plugins import modules_on_use

__getattr__, __dir__ = modules_on_use(__name__)
