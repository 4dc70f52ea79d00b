"""Tables as Parquet, for pandas, polars, R and DuckDB; pyarrow is an extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import QueryError
from .tables import Entry, Table, bare_entry


def need_pyarrow() -> Any:
    """The package, which is not installed with mirflow itself.

    Raises
    ------
    QueryError
        If it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = "Parquet needs pyarrow: pip install '.[parquet]' in mirflow's checkout, or choose csv or json"
        raise QueryError(message) from None
    return pyarrow


def write_parquet(table: Table, path: Path) -> None:
    """Write the rows of a table: text, whole numbers and float64, null for what is not there.

    Parameters
    ----------
    table : Table
    path : path
    """
    arrow = need_pyarrow()
    columns = {
        name: _column(arrow, [bare_entry(row[place]) for row in table.rows]) for place, name in enumerate(table.columns)
    }
    arrow.parquet.write_table(arrow.table(columns), path)


def _column(arrow: Any, entries: list[Entry]) -> Any:
    kinds = {type(entry) for entry in entries if entry is not None}
    if kinds == {int}:
        return arrow.array(entries, arrow.int64())
    if kinds == {bool}:
        return arrow.array(entries, arrow.bool_())
    if kinds and kinds <= {int, float}:
        return arrow.array([None if entry is None else float(entry) for entry in entries], arrow.float64())
    return arrow.array([None if entry is None else str(entry) for entry in entries], arrow.string())
