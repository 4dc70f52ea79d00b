"""The hook on the import of xarray, and the modules that commands load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, *words: str) -> str:
    command = [sys.executable, "-c", f"import sys\n{code}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_module_of_another_package_is_replaced() -> None:
    """`dask.is_dask_collection` once called itself in commands, where a stand-in had taken the place of `dask.base`."""
    code = (
        "import runpy\nsys.argv = ['mirflow', '--version']\n"
        "try: runpy.run_module('mirflow', run_name='__main__')\nexcept SystemExit: pass\n"
        "import dask, dask.array\n"
        "print(dask.is_dask_collection.__module__, dask.is_dask_collection(dask.array.ones(2)))"
    )
    assert run(code).splitlines()[-1] == "dask.base True"


def test_selections_of_plain_datasets_do_not_load_dask_arrays() -> None:
    code = (
        "import numpy as np\nfrom mirflow.lazy_array import plain_dataset\n"
        "ds = plain_dataset({'a': (('x',), np.arange(4.0))}, {'x': np.array(list('abcd'))})\n"
        "ds.isel(x=[2, 0]).transpose().compute()\n"
    )
    assert run(f"{code}print('dask.array' in sys.modules)") == "False\n"


def test_mirflow_may_be_imported_twice_before_xarray() -> None:
    """As where the coverage of its tests is measured."""
    code = (
        "import warnings\nwarnings.simplefilter('error')\n"
        "for name in list(sys.modules):\n    if name.partition('.')[0] == 'mirflow':\n        del sys.modules[name]\n"
        "import mirflow, xarray\nprint(hasattr(xarray.Dataset, 'mirflow'), hasattr(xarray.DataTree, 'mirflow'))\n"
    )
    assert run(code) == "True True\n"


@pytest.mark.slow
def test_commands_load_what_they_need(tmp_path: Path) -> None:
    heavy = ("xarray", "pandas", "dask.array", "scipy")
    loads = (
        f"import atexit\natexit.register(lambda: print('loaded:', *[one for one in {heavy} if one in sys.modules]))\n"
    )
    command = "from mirflow.cli import main\nmain(sys.argv[1:])\n"

    def loaded_by(*words: object) -> str:
        return run(loads + command, *map(str, words)).splitlines()[-1]

    store = tmp_path / "tunes.zarr"
    assert loaded_by("run", Path(__file__).parents[1] / "pipelines/tunes.yaml", "--store", store) == "loaded:"
    assert loaded_by("query", store, "--group", "chord") == "loaded: xarray pandas"
    assert loaded_by("show", store, "--group", "chord") == "loaded: xarray pandas"


def test_a_task_imports_the_functions_of_one_pair_when_they_are_used() -> None:
    code = (
        "from mirflow.metrics import chord\n"
        "door = 'mirflow.metrics.chord.mir_eval'\n"
        "print(chord.TASK.name, 'majmin' in dir(chord), chord.encode('C')[0], door in sys.modules)\n"
        "print(chord.majmin.__module__ == door, 'majmin' in vars(chord), hasattr(chord, 'majmaj'))\n"
        "print(chord.rules.__name__)\n"
        "from mirflow.metrics.chord import *\nprint(evaluate is chord.evaluate)\n"
    )
    assert run(code).splitlines() == ["chord True 0 False", "True True False", "mirflow.metrics.chord.rules", "True"]


def test_readers_are_imported_when_they_are_used() -> None:
    code = (
        "from mirflow import readers\nprint('mirflow.readers.jams' in sys.modules)\n"
        "print(readers.Reading.of('chord').kind, readers.jams.is_jams is readers.is_jams, hasattr(readers, 'raed'))\n"
    )
    assert run(code).splitlines() == ["False", "intervals True False"]
