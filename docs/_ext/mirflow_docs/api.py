"""Python's public names as Markdown: lists of names whose docstrings sphinx reads."""

from __future__ import annotations

import inspect
from importlib import import_module

import mirflow


def public_text() -> str:
    """The functions of the package."""
    return _listed("mirflow", mirflow.__all__)


def introduction_text(module: str) -> str:
    """The docstring of a module, which ``help`` shows first."""
    return f"```{{eval-rst}}\n.. automodule:: {module}\n   :no-index:\n```\n"


def functions_text(module: str) -> str:
    """The functions and classes of a module: those it exports, or those it defines."""
    found = import_module(module)
    names = getattr(found, "__all__", None) or [
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module
    ]
    return _listed(module, [name for name in names if callable(getattr(found, name))])


def _listed(module: str, names: list[str]) -> str:
    found = import_module(module)
    lines = ["```{eval-rst}"]
    for name in names:
        if inspect.isclass(getattr(found, name)):
            lines += [f".. autoclass:: {module}.{name}", "   :members:", ""]
        else:
            lines += [f".. autofunction:: {module}.{name}", ""]
    return "\n".join([*lines, "```", ""])
