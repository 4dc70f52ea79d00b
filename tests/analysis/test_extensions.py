"""The names that a bare ``import mirflow`` gives, and the accessor on whatever xarray opens or makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mirflow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extensions") / "demo.zarr"
    mirflow.run(ROOT / "pipelines" / "demo.yaml", store=path, scheduler="serial")
    return path


def fresh(code: str, *arguments: str | Path) -> str:
    """What a new interpreter prints; a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


_ASKED = """
assert xr.open_datatree(sys.argv[1]).mirflow.query("majmin", group="chord", missing="skip").value.size == 3
assert xr.open_zarr(sys.argv[1], group="chord").mirflow.query("majmin", missing="skip").value.size == 3
assert "1 system x 1 track x 1 metric" in repr(xr.open_zarr(sys.argv[1], group="chord").isel(
    system=[0], track=[0], metric=[0]).mirflow)
"""


@pytest.mark.parametrize(
    "imports",
    ["import mirflow, xarray as xr", "import xarray as xr, mirflow", "import mirflow, xarray.core.dataset as xr"],
)
def test_what_xarray_opens_has_the_accessor_after_a_bare_import_of_mirflow(store: Path, imports: str) -> None:
    fresh(f"import sys\n{imports}\nimport xarray as xr{_ASKED}", store)


def test_a_lazy_pipeline_has_the_accessor_after_a_bare_import() -> None:
    code = "import mirflow; print(mirflow.open_pipeline('pipelines/demo.yaml').mirflow)"
    assert fresh(code).startswith("<mirflow store: chord 3 systems x 7 tracks")


def test_the_packages_are_there_after_a_bare_import() -> None:
    code = (
        "import mirflow, sys\n"
        "assert not {'xarray', 'numpy', 'zarr', 'dask', 'scipy'} & set(sys.modules)\n"
        "assert {'metrics', 'errors', 'load'} <= set(dir(mirflow)) and 'beat' in dir(mirflow.metrics)\n"
        "import numpy as np\n"
        "times = np.arange(10.0)\n"
        "assert mirflow.metrics.beat.f_measure(times, times) == 1\n"
        "assert mirflow.annotations.annotation.Annotation('events', {'time': times}).kind == 'events'\n"
        "assert issubclass(mirflow.errors.QueryError, mirflow.errors.MirflowError)\n"
        "print({'xarray', 'zarr', 'dask', 'pandas'} & set(sys.modules), hasattr(mirflow.metrics, 'beats'))"
    )
    assert fresh(code) == "set() False\n"


def test_looking_for_xarray_does_not_lose_the_accessor() -> None:
    code = (
        "import mirflow, sys, importlib, importlib.util\n"
        "before = len(sys.meta_path)\n"
        "assert importlib.util.find_spec('xarray') is not None and 'xarray' not in sys.modules\n"
        "import xarray as xr\n"
        "assert 'mirflow.accessor' not in sys.modules\n"
        "assert importlib.resources.files('xarray').is_dir()\n"
        "print(before - len(sys.meta_path), hasattr(xr.Dataset, 'mirflow'), hasattr(xr.DataTree, 'mirflow'))"
    )
    assert fresh(code) == "1 True True\n"
