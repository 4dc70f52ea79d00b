"""What every room of metrics is made of: records, identities, tasks and conventions."""

from .describe import DESCRIBED, describe
from .identity import Measure, parse, select
from .record import Metric, Parameter
from .task import Cleaned, Convention, Flaw, Grid, Scores, Sparse, Task, get_task, tasks

__all__ = [
    "DESCRIBED",
    "Cleaned",
    "Convention",
    "Flaw",
    "Grid",
    "Measure",
    "Metric",
    "Parameter",
    "Scores",
    "Sparse",
    "Task",
    "describe",
    "get_task",
    "parse",
    "select",
    "tasks",
]
