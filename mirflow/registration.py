"""Hooks on imports: the accessor ``.mirflow`` of xarray objects, and dask arrays that are loaded when they are used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

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


def defer_dask_arrays() -> None:
    """Import ``dask.array`` in this process when something of it is used, not when arrays are compared with its class.

    xarray imports it, which takes as long as importing xarray, to look whether an array is of it. Commands hardly ever
    have such arrays.
    """
    sys.modules.setdefault("dask.array", _DaskArrays("dask.array"))


class _DaskArrays(ModuleType):
    """A stand-in for ``dask.array`` that has its class of arrays, and makes way for it when anything else is used.

    Of its modules none may be imported before something of the package is: it would be loaded twice.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "Array":
            return _DaskArray
        if name.startswith("__") and name != "__path__":  # questions of import hooks and of inspection
            raise AttributeError(name)
        if sys.modules.get("dask.array") is self:
            del sys.modules["dask.array"]
        return getattr(import_module("dask.array"), name)


class _OfDask(type):
    """The type of a class to which the arrays of dask belong, once there can be any."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        loaded = sys.modules.get("dask.array")
        return loaded is not None and not isinstance(loaded, _DaskArrays) and issubclass(subclass, loaded.Array)


class _DaskArray(metaclass=_OfDask):
    """The class of dask's arrays, as it looks before it is loaded."""
