"""Metrics: a package or module for each task, and what they share.

``mirflow.metrics.beat`` is there after a bare ``import mirflow``: a module is imported when it is first used.
"""

from ..registration import modules_on_use

__getattr__, __dir__ = modules_on_use(__name__)
