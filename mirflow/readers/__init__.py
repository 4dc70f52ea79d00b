"""Readers: from files to annotations, and back."""

from .jams_objects import from_jams, is_jams, to_jams
from .levels import LevelsSource
from .namespaces import NAMESPACES, Namespace
from .options import FORMATS, DelimitedOptions, Reading
from .patterns import Pattern
from .read import list_annotators, read, read_all
from .sources import FileSource, Source
from .stems import StemsSource
from .validate_jams import schema_problems

__all__ = [
    "FORMATS",
    "NAMESPACES",
    "DelimitedOptions",
    "FileSource",
    "LevelsSource",
    "Namespace",
    "Pattern",
    "Reading",
    "Source",
    "StemsSource",
    "from_jams",
    "is_jams",
    "list_annotators",
    "read",
    "read_all",
    "schema_problems",
    "to_jams",
]
