"""The result store and packs: the only place that knows zarr."""

from .content import GroupContent
from .generations import resolve
from .journal import Journal
from .open import open_store
from .pack import Pack
from .pack_reading import read_pack
from .pack_writing import write_pack
from .packs import PackSource, open_pack
from .reading import read_group
from .writer import StoreWriter

__all__ = [
    "GroupContent",
    "Journal",
    "Pack",
    "PackSource",
    "StoreWriter",
    "open_pack",
    "open_store",
    "read_group",
    "read_pack",
    "resolve",
    "write_pack",
]
