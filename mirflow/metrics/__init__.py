"""Metrics: a room per task, and what they share.

``mirflow.metrics.beat`` is there after a bare ``import mirflow``: a module is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in _modules():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})


def _modules() -> list[str]:
    return [module.name for module in iter_modules(__path__)]
