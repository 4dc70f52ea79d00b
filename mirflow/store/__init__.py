"""The result store and packs: the only place that knows zarr."""

from .cells import GroupContent
from .generations import resolve
from .journal import Journal
from .packs import Pack, PackSource, open_pack, read_pack, write_pack
from .read import read_group, read_tree
from .repositories import Commit, history, tag_version
from .write import StoreWriter

__all__ = [
    "Commit",
    "GroupContent",
    "Journal",
    "Pack",
    "PackSource",
    "StoreWriter",
    "history",
    "open_pack",
    "read_group",
    "read_pack",
    "read_tree",
    "resolve",
    "tag_version",
    "write_pack",
]
