"""Registration of the accessor ``.mirflow`` on xarray objects, light to import: nothing is loaded before it is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_CLASSES: dict[str, tuple[str, str]] = {}


def extend(name: str, module: str, cls: str) -> None:
    """Give the accessors an attribute: an instance of a class, made of the dataset or tree.

    Parameters
    ----------
    name : str
        The attribute.
    module, cls : str
        Module and name of the class.
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


def register_accessors() -> None:
    """Give xarray's datasets and trees the accessor ``.mirflow``: now, or as soon as xarray has been imported.

    Importing xarray takes forty times as long as importing mirflow. Its entry points cannot be used: those of backends
    are loaded only when an engine has to be guessed, and never for a dataset that is made in memory.
    """
    if "xarray" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _AfterXarray())


class _AfterXarray:
    """A finder that registers the accessors once xarray has been imported, and then removes itself."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of xarray; None of other modules."""
        if name != "xarray":
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((found for found in others if found is not None), None)
        if spec is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                with suppress(ValueError):  # imported a second time
                    sys.meta_path.remove(self)
                _register()

            loader.exec_module = execute_and_register
        return spec


def _register() -> None:
    import xarray as xr

    untyped: Any = xr  # these two functions of xarray have no annotations
    for register, cls in (
        (untyped.register_dataset_accessor, "DatasetAccessor"),
        (untyped.register_datatree_accessor, "DataTreeAccessor"),
    ):

        def make(scores: Any, cls: str = cls) -> Any:
            return getattr(import_module("mirflow.accessor"), cls)(scores)

        make.__doc__ = f"Queries of scores; see :class:`mirflow.accessor.{cls}`."
        register("mirflow")(make)
