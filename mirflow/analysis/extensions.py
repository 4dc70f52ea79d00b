"""What higher floors add to the accessors: by name, so that nothing is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_CLASSES: dict[str, tuple[str, str]] = {}


def extend(name: str, module: str, cls: str) -> None:
    """Give the accessors an attribute: an instance of a class, made of the dataset or tree.

    Parameters
    ----------
    name : str
        The attribute.
    module, cls : str
        Where the class is.
    """
    _CLASSES[name] = (module, cls)


def extension(name: str, scores: Any) -> Any:
    """The instance for a dataset or a tree.

    Raises
    ------
    AttributeError
        If nothing was added under this name.
    """
    if name not in _CLASSES:
        raise AttributeError(f"the accessor has no attribute {name!r}")
    module, cls = _CLASSES[name]
    return getattr(import_module(module), cls)(scores)
