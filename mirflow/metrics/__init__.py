"""Metrics: a package or module for each task, and shared code.

Modules such as ``mirflow.metrics.beat`` are available after ``import mirflow`` and imported on first use.
"""

from ..plugins import names_on_use

__getattr__, __dir__ = names_on_use(__name__)
