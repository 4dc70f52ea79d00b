"""One annotation as a labelled dataset, and back; of audio as an array of samples that are read when looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import AnnotationError
from ..ragged import Column
from .annotation import DTYPES, Annotation, texts_at
from .schema import KINDS

if TYPE_CHECKING:
    import xarray as xr


def to_dataset(annotation: Annotation) -> xr.Dataset:
    """An annotation as a labelled dataset with units; the counts of nested kinds are variables ``<dim>_size``.

    Audio becomes ``amplitude(source, channel, sample)``, of which nothing is read before it is looked at.
    """
    if annotation.kind == "audio":
        from .labelled_audio import audio_dataset

        return audio_dataset(annotation)
    import xarray as xr

    kind = annotation.schema
    variables: dict[str, tuple[str, Any, dict[str, str]]] = {}
    for outer, inner, counts in zip(kind.dims, kind.dims[1:], annotation.inner_counts, strict=False):
        variables[f"{inner}_size"] = (outer, counts, {"long_name": f"number of {inner}s", "sample_dimension": inner})
    for variable in kind.variables:
        values: Any = annotation.columns.get(variable.name)
        if variable.name == "label" and annotation.labels is not None:
            values = texts_at(annotation.labels)
        if values is not None:
            dim = kind.dims[(variable.depth or len(kind.dims)) - 1]
            variables[variable.name] = (dim, values, _attrs(variable.long_name, variable.units))
    return xr.Dataset(variables, attrs={"kind": kind.name, **annotation.attrs})


def _attrs(long_name: str, units: str | None) -> dict[str, str]:
    return {"long_name": long_name} if units is None else {"long_name": long_name, "units": units}


def from_dataset(dataset: xr.Dataset) -> Annotation:
    """The plain columns of a labelled dataset."""
    name = str(dataset.attrs.get("kind"))
    if name not in KINDS:
        raise AnnotationError(f"not an annotation: its attribute 'kind' is {name!r}; known: {', '.join(KINDS)}")
    if name == "audio":
        from .labelled_audio import audio_annotation

        return audio_annotation(dataset)
    kind = KINDS[name]
    sizes = [f"{dim}_size" for dim in kind.dims[1:]]
    missing = [variable for variable in (*kind.required, *sizes) if variable not in dataset.variables]
    if missing:
        raise AnnotationError(f"an annotation of kind {name!r} needs the variables {', '.join(missing)}")
    columns: dict[str, Column] = {
        v.name: np.asarray(dataset[v.name].values, dtype=DTYPES[v.dtype])
        for v in kind.variables
        if v.name != "label" and v.name in dataset.variables
    }
    labels = [str(label) for label in dataset["label"].values] if "label" in dataset.variables else None
    inner = tuple(np.asarray(dataset[size].values, dtype=np.int64) for size in sizes)
    for dim, counts in zip(kind.dims[1:], inner, strict=True):
        if int(counts.sum()) != dataset.sizes[dim]:
            raise AnnotationError(f"{dim}_size counts {int(counts.sum())} {dim}s, but there are {dataset.sizes[dim]}")
    attrs = {str(key): value for key, value in dataset.attrs.items() if key != "kind"}
    return Annotation(name, columns, labels, inner, attrs=attrs)
