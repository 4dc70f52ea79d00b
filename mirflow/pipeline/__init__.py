"""Pipeline files: what they may say, what they name, and the plans that come of them."""

from .load import PlannedPipeline, json_schema, load_pipeline, plan_evaluation, plan_pipeline, plan_text
from .model import Estimates, Evaluation, Execution, Pipeline, References

__all__ = [
    "Estimates",
    "Evaluation",
    "Execution",
    "Pipeline",
    "PlannedPipeline",
    "References",
    "json_schema",
    "load_pipeline",
    "plan_evaluation",
    "plan_pipeline",
    "plan_text",
]
