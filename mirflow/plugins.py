"""Imports by name: code from outside of mirflow, and modules of mirflow's own packages that are imported on use.

Code from outside is files, modules and packages with their declarations of tasks, readers and the like, which are
looked up here by name, among entry points, too. Its source is digested, and its errors are described
with file and line.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from .errors import MirflowError, MirflowWarning, PluginError, shorten
from .interruption import is_stop

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from importlib.metadata import EntryPoint, EntryPoints

METRICS, TASKS, READERS = "mirflow.metrics", "mirflow.tasks", "mirflow.readers"
"""Groups of the entry points by which installed packages declare metrics, tasks and readers."""

COMMANDS, DOCUMENTS = "mirflow.commands", "mirflow.documents"
"""Groups of the entry points of commands, and of kinds of YAML files that `mirflow check` and `schema` know."""

BENCHMARKS = "mirflow.benchmarks"
"""Group of the entry points of packages with benchmark files: a module beside them, or the path of a file or folder."""

_PREFIX = "mirflow_file_"
"""Beginning of the names of modules that are files; the path follows, so that workers can import them by name."""

LONGEST = 300  # most characters of an error's text in a message


class _FileImporter:
    """Finds and runs Python files as modules, which can import modules beside them. Pickle asks for one by its name
    where something that it defines is sent to a worker."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a file; None of other modules."""
        if not name.startswith(_PREFIX):
            return None
        loader: Any = self
        file = os.fsdecode(bytes.fromhex(name.removeprefix(_PREFIX)))
        return importlib.util.spec_from_loader(name, loader, origin=file)

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing: a usual module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the file in a module."""
        assert module.__spec__ is not None
        path = str(module.__spec__.origin)
        text, folder = Path(path).read_bytes(), str(Path(path).parent)
        module.__file__ = path
        sys.path.insert(0, folder)
        try:
            exec(compile(text, path, "exec"), module.__dict__)
        finally:
            sys.path.remove(folder)
        _files[path] = text, module


_importer = _FileImporter()
sys.meta_path.append(_importer)
_lock = threading.RLock()
_files: dict[str, tuple[bytes, ModuleType]] = {}


def import_module(module: str) -> ModuleType:
    """Import a module by its dotted name, or a Python file by its path; of a file that has changed its present text.
    Modules beside a file can be imported by it."""
    with _lock:
        try:
            return _import_file(module) if module.endswith(".py") else importlib.import_module(module)
        except MirflowError:
            raise
        except BaseException as error:
            if is_stop(error):
                raise
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing and f"{module}.".startswith(f"{missing}."):
                raise PluginError(f"no module {module!r}; a file is named with its suffix: {module}.py") from None
            raise PluginError(f"{module}: cannot be imported: {describe_error(error, module)}") from error


def _import_file(path: str) -> ModuleType:
    path = os.path.realpath(path)
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise PluginError(f"{path}: cannot be read: {os.strerror(error.errno or 0)}") from None
    known = _files.get(path)
    if known is not None and known[0] == text:
        return known[1]
    spec = _importer.find_spec(f"{_PREFIX}{os.fsencode(path).hex()}")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        if before is not None:
            sys.modules[spec.name] = before
        raise
    return module


def digest_of(module: ModuleType, found: Any = None) -> str:
    """Digest of the source of a module, and of the file of a function that it has imported from elsewhere. 16
    hexadecimal digits; empty without a source."""
    import hashlib

    files = [getattr(module, "__file__", None)]
    with suppress(TypeError):
        files.append(inspect.getsourcefile(inspect.unwrap(found)))
    digest = hashlib.blake2b(digest_size=8)
    paths = list(dict.fromkeys(os.path.realpath(file) for file in files if file))
    for path in paths:
        held = _files.get(path)
        try:
            digest.update(held[0] if held else Path(path).read_bytes())
        except OSError:
            return ""
    return digest.hexdigest() if paths else ""


def origin_of(function: Any) -> str:
    """Module and name of a function; of one of a Python file the file's name."""
    module, name = str(getattr(function, "__module__", "")), str(getattr(function, "__qualname__", ""))
    if spec := _importer.find_spec(module):
        module = Path(str(spec.origin)).name
    return f"{module}:{name.removesuffix('.read')}"


def describe_error(error: BaseException, module: str = "") -> str:
    """Describe an error in one line, with the file and line where it was raised: the last one in a module, if given.

    Examples
    --------
    >>> describe_error(ValueError("no beats"))
    'ValueError: no beats'
    """
    text = shorten(" ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split()), LONGEST)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    places = [(one.filename, one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    named = [place for place in places if module and os.path.realpath(place[0]) == os.path.realpath(module)] or places
    return f"{said} ({Path(named[-1][0]).name}:{named[-1][1]})" if named else said


def installed(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group in all installed packages."""
    folders = []
    for folder in sys.path:
        with suppress(OSError):
            folders.append((folder, Path(folder).stat().st_mtime_ns))
    before, points = _scanned.get(group, (None, None))
    if points is None or before != folders:  # all packages are scanned again only if these folders have changed
        from importlib.metadata import entry_points

        points = entry_points(group=group)
        _scanned[group] = folders, points
    return points


_scanned: dict[str, tuple[list[tuple[str, int]], EntryPoints]] = {}
_declared: dict[str, dict[str, Any]] = {group: {} for group in (TASKS, READERS, COMMANDS, DOCUMENTS, BENCHMARKS)}


def declare(group: str, name: str, value: Any) -> None:
    """Declare a task or a reader; a later one of the same name takes its place."""
    _declared[group][name] = value


def declared(group: str) -> Mapping[str, Any]:
    """The tasks or readers that have been declared so far, by their names."""
    return MappingProxyType(_declared[group])


def find(group: str, name: str) -> Any:
    """Look up a declaration in a group, or load the entry point of this name; None if there is neither."""
    if name not in _declared[group]:
        for point in installed(group):
            if point.name == name:
                value = import_module(point.module)
                for part in filter(None, (point.attr or "").split(".")):
                    if not hasattr(value, part):
                        raise PluginError(f"{point.module}: has no {part!r}, which its entry point {name!r} names")
                    value = getattr(value, part)
                _declared[group].setdefault(name, value)
    return _declared[group].get(name)


def find_all(group: str) -> Mapping[str, Any]:
    """All that is declared or installed in a group, by name; warns of entry points that cannot be loaded."""
    for point in installed(group):
        try:
            find(group, point.name)
        except PluginError as error:
            warnings.warn(str(error), MirflowWarning, stacklevel=2)
    return declared(group)


def names_on_use(package: str, *modules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose modules are imported when they are first used, as are its
    public names that some of the `modules` have. The functions of one pair complete their docstrings when they are
    imported, which runs over datasets do not need."""

    def names() -> list[str]:
        from pkgutil import iter_modules

        public = vars(sys.modules[package])
        inside = [module.name for module in iter_modules(public["__path__"])]
        return sorted({*public, *public.get("__all__", ()), *inside})

    def get(name: str) -> Any:
        public = vars(sys.modules[package])
        for module in modules if name in public.get("__all__", ()) else ():
            members = vars(importlib.import_module(f"{package}.{module}"))
            # Kept by the package, so that later calls find the functions like any other.
            public.update((key, members[key]) for key in public["__all__"] if key in members)
            if name in public:
                return public[name]
        try:
            if name.isidentifier() and not name.startswith("__"):  # no dotted name
                return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":  # which a module of the package lacks
                raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, names
