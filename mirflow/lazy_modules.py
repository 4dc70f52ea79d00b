"""Modules of packages, and names in them, that are imported on use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def names_on_use(package: str, *modules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public names are imported on use. The functions of one pair
    complete their docstrings when they are imported, which runs over datasets do not need. Other modules of the package
    are attributes as well."""
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
