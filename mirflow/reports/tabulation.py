"""Tabulations: datasets, or other items, with the tables that show them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..errors import QueryError, counted
from .tables import Table, merge, to_csv, to_html, to_json, to_latex, to_markdown, to_text, write_parquet

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Item = TypeVar("Item")


def terminal_width() -> int:
    """Columns of the terminal; 120 where there is none and COLUMNS is not set."""
    return shutil.get_terminal_size((120, 24)).columns


class Tabulation(Generic[Item]):
    """Datasets, or other items, with the tables that show them: in a terminal, in a notebook, in files.

    Tables are laid out when they are shown. Text, Markdown, HTML and LaTeX have rounded values and notes below; CSV,
    JSON, Parquet and data frames have a row for each value, in full precision.

    Parameters
    ----------
    items : sequence
        ``result[0]`` is the first of them; of a single dataset, ``result["value"]`` is a variable.
    readable : callable
        From the columns of a terminal to the tables for people.
    rows : callable
        Gives the tables for programs, whose rows are joined.
    notes : sequence of str
        What the tables for people have in their notes, and those for programs have not.
    """

    def __init__(
        self,
        items: Sequence[Item],
        readable: Callable[[int], Sequence[Table]],
        rows: Callable[[], Sequence[Table]],
        notes: Sequence[str] = (),
    ) -> None:
        self.items = tuple(items)
        self.notes = tuple(notes)
        self._readable, self._rows = readable, rows

    @property
    def dataset(self) -> xr.Dataset:
        """The only dataset.

        Raises
        ------
        QueryError
            If there are several, or none.
        """
        import xarray as xr

        found = [item for item in self.items if isinstance(item, xr.Dataset)]
        if len(found) != 1:
            names = ", ".join(filter(None, (str(ds.attrs.get("group", "")) for ds in found)))
            of = f" (of {names})" if names else ""
            raise QueryError(f"this result has {counted(len(found), 'dataset')}{of}, not one; choose one of its items")
        return found[0]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self, key: str) -> xr.DataArray: ...
    def __getitem__(self, key: int | str) -> Any:
        """An item by its position, or a variable of the only dataset by its name."""
        return self.dataset[key] if isinstance(key, str) else self.items[key]

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n") or f"<{counted(len(self.items), 'item')}, no table>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def tables(self, width: int | None = None) -> list[Table]:
        """Tables for people; None: as wide as the terminal."""
        return list(self._readable(terminal_width() if width is None else width))

    def rows(self) -> Table:
        """The rows for programs: full precision, a column for everything that is needed to read one alone."""
        return merge(self._rows())

    def to_text(self, width: int | None = None, *, bold: bool = False) -> str:
        """Text for a terminal of some columns, the best values perhaps in bold."""
        width = terminal_width() if width is None else width
        return "\n".join(to_text(table, width, bold=bold) for table in self.tables(width))

    def to_markdown(self) -> str:
        """Markdown, for a README or an issue."""
        return "\n".join(map(to_markdown, self.tables()))

    def to_html(self) -> str:
        """HTML without styles, as notebooks show it."""
        return "".join(map(to_html, self.tables()))

    def to_latex(
        self,
        *,
        stacked: bool = False,
        caption: str | None = None,
        label: str | None = None,
        notes: bool = True,
        names: str = "titles",
    ) -> str:
        """LaTeX for a paper; see :func:`mirflow.reports.tables.to_latex`. Labels after the first have a number."""
        labels = [f"{label}-{place + 1}" if label and place else label for place in range(len(self.tables()))]
        made = zip(self.tables(), labels, strict=True)
        return "\n".join(
            to_latex(table, stacked=stacked, caption=caption, label=own, notes=notes, names=names)
            for table, own in made
        )

    def to_csv(self) -> str:
        """CSV of the rows for programs."""
        return to_csv(self.rows())

    def to_json(self) -> str:
        """JSON of the rows for programs: a list of objects."""
        return to_json(self.rows())

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows for programs to a Parquet file; it takes pyarrow."""
        write_parquet(self.rows(), Path(path))

    def to_dataframe(self) -> pd.DataFrame:
        """The rows for programs as a data frame."""
        import pandas as pd

        table = self.rows()
        return pd.DataFrame(list(table.rows), columns=list(table.columns))
