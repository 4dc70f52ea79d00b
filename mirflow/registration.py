"""Imports on use: the accessor ``.mirflow`` of xarray objects, and modules of packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


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
        spec = next((other for other in others if other is not None), None)
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


def names_on_use(package: str, *modules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public names are imported on use.

    The functions of one pair complete their docstrings when they are imported, which runs over datasets do not need.
    Other modules of the package are attributes as well.
    """
    get_module, names = modules_on_use(package)

    def get(name: str) -> Any:
        public = vars(sys.modules[package])
        for module in modules if name in public.get("__all__", ()) else ():
            found = vars(import_module(f"{package}.{module}"))
            # Kept by the package, so that later calls find the functions like any other.
            public.update((one, found[one]) for one in public["__all__"] if one in found)
            if name in public:
                return public[name]
        return get_module(name)

    return get, lambda: sorted({*names(), *sys.modules[package].__all__})


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
