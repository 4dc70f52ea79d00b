"""Lazy arrays give what the whole array gives under every kind of selection, and read no more than they need."""

from __future__ import annotations

import pickle
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.lazy_array import lazy_variable

WHOLE = np.arange(60, dtype=np.float64).reshape(3, 4, 5)
DIMS = ("a", "b", "c")


def pick(whole: np.ndarray[Any, Any], key: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    return np.asarray(xr.Variable(DIMS, whole)[key].values)


@pytest.mark.parametrize(
    "selected",
    [
        {},
        {"a": 1},
        {"b": [2, 0]},
        {"a": [True, False, True], "c": slice(None, None, -2)},
        {"a": [2, 0], "b": [1, 1], "c": [4, 0]},
        {"a": 0, "b": -1},
        {"b": slice(0, 0)},
        {name: xr.Variable("point", [2, 0, 1]) for name in DIMS},
        {"a": xr.Variable(("x", "y"), [[2], [0]]), "c": xr.Variable("x", [1, 1])},
    ],
)
def test_every_selection_is_that_of_the_whole_array(selected: dict[str, Any]) -> None:
    lazy, whole = lazy_variable(DIMS, WHOLE.shape, WHOLE.dtype, partial(pick, WHOLE)), xr.Variable(DIMS, WHOLE)
    for one, other in ((lazy, whole), (lazy.transpose("c", "a", "b"), whole.transpose("c", "a", "b"))):
        xr.testing.assert_identical(one.isel(selected).load(), other.isel(selected))
    xr.testing.assert_identical(pickle.loads(pickle.dumps(lazy)).isel(selected).load(), whole.isel(selected))


@pytest.mark.parametrize("dtype", [np.float64, np.int8, object, np.dtypes.StringDType()])
def test_nothing_is_read_before_it_is_looked_at(dtype: Any) -> None:
    lazy = lazy_variable(DIMS, WHOLE.shape, dtype, lambda key: pytest.fail("reads"))
    assert lazy.isel(a=0).isel(b=[1]).dtype == np.dtype(dtype)
    assert xr.Dataset({"x": lazy}).sizes == {"a": 3, "b": 4, "c": 5}


def test_no_private_name_of_another_package_is_imported() -> None:
    private = re.compile(r"^\s*(from|import) (?!mirflow|\.)\w+(\.\w+)*(\.core\b|\._\w)", re.MULTILINE)
    files = Path(mirflow.__file__).parent.rglob("*.py")
    assert [str(path) for path in files if private.search(path.read_text())] == []
