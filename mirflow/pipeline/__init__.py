"""Pipeline files: their model, the files that they name, and the resulting plans."""

from .load import PlannedPipeline, find_files, json_schema, load_pipeline, plan_evaluation, plan_pipeline
from .model import Estimates, Evaluation, Execution, Pipeline, References

__all__ = [
    "Estimates",
    "Evaluation",
    "Execution",
    "Pipeline",
    "PlannedPipeline",
    "References",
    "find_files",
    "json_schema",
    "load_pipeline",
    "plan_evaluation",
    "plan_pipeline",
]
