"""Readers: from files to annotations, and back."""

from typing import TYPE_CHECKING

from ..plugins import names_on_use

if TYPE_CHECKING:
    from ..annotations.source import Source
    from .annotation_files import list_annotators, read, read_all
    from .formats import FORMATS
    from .jams import is_jams, schema_problems
    from .jams_writing import to_jams
    from .namespaces import NAMESPACES, Namespace
    from .options import DelimitedOptions, Reading
    from .patterns import Pattern
    from .sources import FileSource, FilesSource

__getattr__, __dir__ = names_on_use(
    __name__, "annotation_files", "jams", "jams_writing", "patterns", "namespaces", "options", "sources", "formats"
)
__all__ = [
    "FORMATS",
    "NAMESPACES",
    "DelimitedOptions",
    "FileSource",
    "FilesSource",
    "Namespace",
    "Pattern",
    "Reading",
    "Source",
    "is_jams",
    "list_annotators",
    "read",
    "read_all",
    "schema_problems",
    "to_jams",
]
