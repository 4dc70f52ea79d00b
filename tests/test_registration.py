"""Hooks on imports: dask is loaded when it is used, and is what it is then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEFERRED = "import sys\nfrom mirflow.registration import defer_dask\ndefer_dask()\n"
LOADED = "'dask.array.core' in sys.modules"
DASK = "'dask' in sys.modules"


def run(code: str, *words: str) -> str:
    done = subprocess.run([sys.executable, "-c", DEFERRED + code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_selections_of_plain_datasets_do_not_load_dask() -> None:
    code = (
        "import numpy as np\nfrom mirflow.lazy_array import plain_dataset\n"
        "ds = plain_dataset({'a': (('x',), np.arange(4.0))}, {'x': np.array(list('abcd'))})\n"
        "ds.isel(x=[2, 0]).transpose().compute()\n"
    )
    assert run(f"{code}print({DASK})") == "False\n"


@pytest.mark.parametrize(
    "use",
    [
        "import dask.array as da\nlazy = da.ones(4, chunks=2)",
        "from dask.array import ones\nlazy = ones(4, chunks=2)",
        "import dask\nimport dask.array as da\nlazy = da.ones(4, chunks=2)",
        "import dask.base\nimport dask.array\nlazy = dask.base.persist(dask.array.ones(4, chunks=2))[0]",
    ],
)
def test_dask_arrays_are_those_of_dask_once_they_are_used(use: str) -> None:
    code = (
        f"import xarray as xr\nxr.Variable(('x',), [1.0])\n{use}\nvariable = xr.Variable(('x',), lazy)\n"
        f"print({LOADED}, variable.chunks, float((variable + 1).sum().values))"
    )
    assert run(code) == "True ((2, 2),) 8.0\n"


def test_scipy_takes_plain_arrays() -> None:
    assert (
        run("from scipy import stats\nprint(stats.wilcoxon([1, 2, 3.0, 4, 5], [2, 1, 5, 7, 8]).pvalue > 0)") == "True\n"
    )


def test_mirflow_may_be_imported_twice_before_xarray() -> None:
    """As where the coverage of its tests is measured."""
    code = (
        "import warnings\nwarnings.simplefilter('error')\n"
        "for name in list(sys.modules):\n    if name.partition('.')[0] == 'mirflow':\n        del sys.modules[name]\n"
        "import mirflow, xarray\nprint(hasattr(xarray.Dataset, 'mirflow'), hasattr(xarray.DataTree, 'mirflow'))\n"
    )
    assert run(code) == "True True\n"


def test_commands_load_what_they_need(tmp_path: Path) -> None:
    heavy = ("xarray", "pandas", "dask", "scipy")
    loads = (
        f"import atexit\natexit.register(lambda: print('loaded:', *[one for one in {heavy} if one in sys.modules]))\n"
    )
    command = "from mirflow.cli import main\nmain(sys.argv[1:])\n"

    def loaded_by(*words: object) -> str:
        return run(loads + command, *map(str, words)).splitlines()[-1]

    store = tmp_path / "demo.zarr"
    assert loaded_by("run", Path(__file__).parents[1] / "pipelines/demo.yaml", "--store", store) == "loaded:"
    assert loaded_by("query", store, "--group", "chord") == "loaded: xarray pandas"
