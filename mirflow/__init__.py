"""mirflow evaluates music information retrieval systems over whole datasets.

Three interfaces share the same kernels:

- ``from mirflow.metrics import chord``: one pair of plain arrays, with mir_eval's names and signatures;
- ``mirflow.load``, ``mirflow.evaluate``, ``mirflow.explain``, ``mirflow.align``: labelled xarray datasets;
- ``mirflow.run`` and the command ``mirflow``: whole datasets, from a declarative YAML file to a Zarr store.

Public modules are ``metrics`` (a module for each task, and ``display`` and ``sonify``), ``analysis``, ``annotations``,
``errors``, ``readers``, ``reports``, ``store`` and ``typing``; all others are internal and may change. Public names are
imported on first use, and datasets and trees of xarray get the accessor ``.mirflow``.
"""

from __future__ import annotations

import sys as _sys
from contextlib import suppress as _suppress
from functools import partial as _partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import errors as errors
    from . import metrics as metrics
    from . import readers as readers
    from . import reports as reports
    from . import store as store
    from . import typing as typing
    from .analysis.queries import open_store as open_store
    from .analysis.signatures import signature as signature
    from .engine.publishing import publish as publish
    from .engine.runs import open_pipeline as open_pipeline
    from .engine.runs import run as run
    from .engine.time_grids import align as align
    from .engine.time_grids import from_grid as from_grid
    from .evaluation.accumulator import Accumulator as Accumulator
    from .evaluation.evaluate import evaluate as evaluate
    from .evaluation.evaluate import evaluate_paths as evaluate_paths
    from .evaluation.evaluate import score as score
    from .evaluation.explanations import explain as explain
    from .evaluation.loading import annotation as annotation
    from .evaluation.loading import collection as collection
    from .evaluation.loading import from_mirdata as from_mirdata
    from .evaluation.loading import load as load
    from .evaluation.loading import load_collection as load_collection
    from .evaluation.loading import pack as pack
    from .metrics import display as display
    from .metrics import sonify as sonify
    from .metrics.base import declare_task as declare_task
    from .metrics.base import pair_task as pair_task
    from .metrics.pair_metrics import pair_metric as pair_metric
    from .published.score_tables import import_scores as import_scores
    from .questions.stores import diff as diff
    from .questions.stores import problems as problems
    from .questions.stores import query as query
    from .questions.stores import show as show
    from .questions.systems import agreement as agreement
    from .questions.systems import compare as compare
    from .questions.systems import oracle as oracle
    from .questions.systems import overlap as overlap
    from .questions.systems import plan as plan
    from .questions.systems import ranks as ranks
    from .questions.tracks import best as best
    from .questions.tracks import budget as budget
    from .questions.tracks import changes as changes
    from .questions.tracks import consensus as consensus
    from .questions.tracks import correlate as correlate
    from .questions.tracks import diagnose as diagnose
    from .questions.tracks import worst as worst
    from .readers.delimited import to_csv as to_csv
    from .readers.delimited import to_lab as to_lab
    from .readers.jams_writing import to_jams as to_jams
    from .readers.label_maps import read_label_map as read_label_map
    from .readers.midi import to_midi as to_midi
    from .readers.sources import declare_reader as declare_reader
    from .reports.error_budgets import losses as losses
    from .reports.figures.canvas import plot as plot
    from .reports.page import report as report
    from .reports.page.player import timeline as timeline
    from .reports.summaries import check as check
    from .store.write import save as save
    from .workflows.benchmarking import benchmark as benchmark
    from .workflows.benchmarking import benchmarks as benchmarks
    from .workflows.benchmarking import run_benchmark as run_benchmark
    from .workflows.corrections import apply_patch as apply_patch
    from .workflows.corrections import make_patch as make_patch
    from .workflows.corrections import patch_effects as patch_effects
    from .workflows.verification import verify as verify

    __version__: str

# The module of each public function, imported when it is first used, so that `mirflow.metrics` stays light. No module
# here may have the name of a function: importing it would replace the function.
_HOMES = {
    name: module
    for module, names in {
        "analysis.queries": ("open_store",),
        "analysis.signatures": ("signature",),
        "engine.publishing": ("publish",),
        "engine.runs": ("open_pipeline", "run"),
        "engine.time_grids": ("align", "from_grid"),
        "evaluation.accumulator": ("Accumulator",),
        "evaluation.evaluate": ("evaluate", "evaluate_paths", "score"),
        "evaluation.explanations": ("explain",),
        "evaluation.loading": ("annotation", "collection", "from_mirdata", "load", "load_collection", "pack"),
        "metrics.base": ("declare_task", "pair_task"),
        "metrics.pair_metrics": ("pair_metric",),
        "published.score_tables": ("import_scores",),
        "questions.stores": ("diff", "problems", "query", "show"),
        "questions.systems": ("agreement", "compare", "oracle", "overlap", "plan", "ranks"),
        "questions.tracks": ("best", "budget", "changes", "consensus", "correlate", "diagnose", "worst"),
        "readers.delimited": ("to_csv", "to_lab"),
        "readers.jams_writing": ("to_jams",),
        "readers.label_maps": ("read_label_map",),
        "readers.midi": ("to_midi",),
        "readers.sources": ("declare_reader",),
        "reports.error_budgets": ("losses",),
        "reports.figures.canvas": ("plot",),
        "reports.page": ("report",),
        "reports.page.player": ("timeline",),
        "reports.summaries": ("check",),
        "store.write": ("save",),
        "workflows.benchmarking": ("benchmark", "benchmarks", "run_benchmark"),
        "workflows.corrections": ("apply_patch", "make_patch", "patch_effects"),
        "workflows.verification": ("verify",),
    }.items()
    for name in names
}
__all__ = sorted(_HOMES)

# Modules that are attributes after a bare `import mirflow`, each imported when it is first used.
_MODULES = {
    name: name for name in ("analysis", "annotations", "errors", "metrics", "readers", "reports", "store", "typing")
}
_MODULES |= {"display": "metrics.display", "sonify": "metrics.sonify"}

del annotations  # of __future__, in place of the package


class _AfterXarray:
    """A finder that registers the accessors once xarray has been imported, and then removes itself."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The specification of xarray; None of other modules."""
        if name != "xarray":
            return None
        others = (finder.find_spec(name, path, target) for finder in _sys.meta_path if finder is not self)
        spec = next((other for other in others if other is not None), None)
        if spec is not None:
            loader: Any = spec.loader
            loader.exec_module = _partial(_register, self, loader.exec_module)
        return spec


def _register(finder: Any = None, execute: Any = None, module: Any = None) -> None:
    """Register the accessors, after executing the module of xarray that a finder has found."""
    if execute is not None:
        execute(module)
        with _suppress(ValueError):  # imported a second time
            _sys.meta_path.remove(finder)
    import xarray as xr

    untyped: Any = xr  # these two functions of xarray have no annotations
    for register, cls in (
        (untyped.register_dataset_accessor, "DatasetAccessor"),
        (untyped.register_datatree_accessor, "DataTreeAccessor"),
    ):

        def make(scores: Any, cls: str = cls) -> Any:
            return getattr(import_module("mirflow.questions._accessor"), cls)(scores)

        make.__doc__ = f"Queries of scores; see :class:`mirflow.questions._accessor.{cls}`."
        register("mirflow")(make)


# Datasets and trees get the accessor ``.mirflow`` now, or as soon as xarray has been imported, which takes forty times
# as long as importing mirflow. Entry points of xarray cannot be used: those of backends are loaded only when an engine
# has to be guessed, and never for a dataset that is made in memory.
if "xarray" in _sys.modules:
    _register()
else:
    # Where mirflow is imported a second time, its first import may wait still: the two would ask each other for ever.
    _sys.meta_path[:] = [finder for finder in _sys.meta_path if type(finder).__name__ != "_AfterXarray"]
    _sys.meta_path.insert(0, _AfterXarray())


if not TYPE_CHECKING:  # so that a type checker finds names that are not there

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("mirflow")
        if name in _MODULES:
            return import_module(f".{_MODULES[name]}", __name__)
        if name not in _HOMES:
            raise AttributeError(f"module 'mirflow' has no attribute {name!r}")
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(
        [*__all__, "display", "errors", "metrics", "sonify", *(name for name in globals() if name[:2] == "__")]
    )
