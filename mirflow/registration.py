"""Imports: the accessor ``.mirflow`` of xarray objects, and dask, which is loaded when it is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_EXTENSIONS: dict[str, tuple[str, str]] = {}


def extend(name: str, module: str, made: str) -> None:
    """Give the accessors an attribute that lies above them.

    Parameters
    ----------
    name : str
        The attribute.
    module, made : str
        Module and name of a function of the dataset or tree, or of a class.
    """
    _EXTENSIONS[name] = (module, made)


def extension(name: str, scores: Any) -> Callable[..., Any]:
    """The function or class, of a dataset or a tree.

    Raises
    ------
    AttributeError
        If nothing was added under this name.
    """
    if name not in _EXTENSIONS:
        raise AttributeError(f"the accessor has no attribute {name!r}")
    module, made = _EXTENSIONS[name]
    return partial(getattr(import_module(module), made), scores)


def register_accessors() -> None:
    """Give xarray's datasets and trees the accessor ``.mirflow``: now, or as soon as xarray has been imported.

    Importing xarray takes forty times as long as importing mirflow. Its entry points cannot be used: those of backends
    are loaded only when an engine has to be guessed, and never for a dataset that is made in memory.
    """
    if "xarray" in sys.modules:
        _register()
        return
    # Where mirflow is imported a second time, its first import may wait still: the two would ask each other for ever.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "_AfterXarray"]
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


def modules_on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose modules are imported when they are first used."""

    def names() -> list[str]:
        from pkgutil import iter_modules

        return [module.name for module in iter_modules(sys.modules[package].__path__)]

    def get(name: str) -> Any:
        if name.startswith("__") or name not in names():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return get, lambda: sorted({*vars(sys.modules[package]), *names()})


def defer_dask() -> None:
    """Import dask in this process when something of it is used, not when xarray looks whether an array is of it.

    This takes longer than importing xarray, and commands hardly ever have such arrays.
    """
    for stand_in in (_Deferred("dask.array", Array=_DaskArray), _Deferred("dask.base", is_dask_collection=_is_lazy)):
        sys.modules.setdefault(stand_in.__name__, stand_in)


class _Deferred(ModuleType):
    """A stand-in for a module of dask that has some of its names, and makes way for it when any other is used.

    Of its modules none may be imported before something of the package is: it would be loaded twice.
    """

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        # Import hooks and inspection ask for such names; only a package has a path.
        if name.startswith("__") and (name != "__path__" or self.__name__ != "dask.array"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        arrays = sys.modules.get("dask.array")
        if isinstance(arrays, _Deferred):  # `import dask.array` looks for it in dask, which has just been loaded
            vars(sys.modules["dask"])["array"] = arrays
        return getattr(module, name)


def _is_lazy(x: object) -> bool:
    """True if something is a collection of dask; what has no graph is none."""
    if not hasattr(type(x), "__dask_graph__"):
        return False
    # It imports dask.base, and so puts it in the place of the stand-in.
    return bool(import_module("dask").is_dask_collection(x))


class _OfDask(type):
    """The type of a class to which the arrays of dask belong, once there can be any."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        loaded = sys.modules.get("dask.array")
        return loaded is not None and not isinstance(loaded, _Deferred) and issubclass(subclass, loaded.Array)


class _DaskArray(metaclass=_OfDask):
    """The class of dask's arrays, as it looks before it is loaded."""
