"""Zarr in folders, repositories and on servers: written synced to disk, checked for lost or damaged chunks when read.

Imported only when a store is opened, as `import zarr` takes longer than everything else in the package. `StoredArray`
reads the values of an array on access.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import math
import stat
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import zarr
from numcodecs.zstd import decompress
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.codecs import ZstdCodec
from zarr.storage import LocalStore, ObjectStore, WrapperStore

from .. import remote
from ..errors import DamagedError, StoreError
from ..remote import NEEDED, SLOWEST, TOO_SLOW, Address, as_given, client_of, parse_address, reason_of, store_flaw
from .generations import CHUNK, REPLACED, SEPARATOR, chunk_files, reading, unless_replaced, write_synced

if TYPE_CHECKING:
    from zarr.abc.buffer import Buffer, BufferPrototype
    from zarr.abc.store import ByteRequest

    Base = ObjectStore[Any]
else:  # not generic before zarr 3.1.4
    Base = ObjectStore

_REQUESTS: set[object] = set()
_EXIT_SECONDS = 10.0


@contextmanager
def requesting() -> Iterator[None]:
    """Requests to a server or a service, for which Python waits before it ends. Where one of several reads fails, zarr
    goes on without the others. The libraries that do requests crash the process if one of them is answered while Python
    ends."""
    request = object()
    _REQUESTS.add(request)
    try:
        yield
    finally:
        _REQUESTS.discard(request)


@atexit.register
def _wait_for_requests() -> None:
    end = time.monotonic() + _EXIT_SECONDS
    while _REQUESTS and time.monotonic() < end:
        time.sleep(0.01)


METADATA = "zarr.json"
WRITTEN = "chunks_written"
"""Attribute of a variable of which not every chunk is written: how many are, so that a lost one shows."""


class BuildingStore(LocalStore):
    """A folder without readers yet: every value is written in this thread and synced. Zarr's own local store hands each
    small file to another thread and renames it into place; in a folder that is put in place as a whole, both are in
    vain and double the time of a publish."""

    async def set(self, key: str, value: Buffer) -> None:
        """Write one value."""
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        write_synced(path, value.to_bytes())

    set_if_not_exists = Store.set_if_not_exists  # by the other two

    async def exists(self, key: str) -> bool:
        """True if there is a value."""
        return (self.root / key).is_file()


class GenerationStore(LocalStore):
    """A published generation, read only. A chunk that is not there reads as fill values. That is right where it was
    never written, and a lie where it was lost or the generation was removed under a lazy handle: then this raises.
    Removing starts by renaming the folder, so a folder that is still there after a miss was whole at the time of the
    miss."""

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """One value; None where it was never written."""
        _demand_file(self.root, key)
        value = await super().get(key, prototype, byte_range)
        if value is None and not self.root.exists():
            raise StoreError(f"{self.root}: {REPLACED}")
        chunk = CHUNK.fullmatch(key)
        if chunk is None:
            return value
        what = ""
        with unless_replaced(self.root):
            array = self.root / chunk[1]
            if value is None:
                what = "lost" if is_lost(array) else ""
            elif not isinstance(byte_range, SuffixByteRequest):  # the index of a shard, which has a checksum of its own
                found = array.stat()
                form = _form(array, found.st_ino, found.st_ctime_ns)
                what = flaw_of(value.as_numpy_array().data, form, whole=byte_range is None)
            if what:
                raise DamagedError(self.root, f"a chunk of {chunk[1]!r} is {what}")
        return value


class SessionStore(WrapperStore[Any]):
    """A version of a repository, read only, whose errors name the address. `store`, `address`: of a session, and where
    its repository is. `asking`: makes a context that gives errors a form. `demand_answer`: raises an error if the
    service is silent; it is called when a value does not come within so many `seconds`."""

    def __init__(
        self,
        store: Any,
        address: str,
        asking: Callable[[], AbstractContextManager[None]],
        demand_answer: Callable[[], None] | None,
        seconds: float,
    ) -> None:
        super().__init__(store)
        self._demand_answer = demand_answer
        self._seconds = seconds
        self.address = address
        self.remedy = "go back to an earlier version, which `mirflow history` lists"
        self._asking = asking
        self._arrays = ReadArrays()

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """One value; None where it was never written."""
        with self._asking(), requesting():
            reading = asyncio.ensure_future(self._store.get(key, prototype, byte_range))
            while self._demand_answer is not None and not (await asyncio.wait({reading}, timeout=self._seconds))[0]:
                try:
                    await asyncio.to_thread(self._demand_answer)
                except BaseException:
                    reading.cancel()
                    raise
            value: Buffer | None = await reading
        data = None if value is None else value.as_numpy_array().data
        if key.rpartition("/")[2] == METADATA:
            self._arrays.keep(key, data)
        elif (array := self._arrays.of_chunk(key)) and (what := self._arrays.flaw(array, data, byte_range)):
            raise DamagedError(self.address, f"a chunk of {array!r} is {what}", self.remedy)
        return value


def _demand_file(root: Path, key: str) -> None:
    """Raise for what is there and no file, such as a pipe, from which reading never ends."""
    try:
        regular = stat.S_ISREG((root / key).stat().st_mode)
    except OSError:  # reported when it is read
        return
    if not regular:
        raise DamagedError(root, f"{key!r} is not a file")


def flaw_of(data: memoryview, form: Form, *, whole: bool) -> str:
    """Fault of the bytes of a chunk, of a `whole` shard or of a chunk in one; empty if there is none. Lazy values are
    decoded outside of mirflow's functions, so the checksum is checked here, where all bytes come in: decompressing
    twice takes a millisecond for a megabyte. Sizes are compared first, since a few bytes may unpack to gigabytes. Of
    shards, which only hold scores, the sizes are enough: whoever decodes them reports checksums."""
    if form.flaw:
        return f"not what was written ({form.flaw})"
    frames = [data]
    if whole and form.in_shard:  # at the end of a shard is its index: where its chunks start, and their sizes
        end = len(data) - 16 * form.in_shard - _INDEX_CHECKSUM
        index = np.frombuffer(data, "<u8", 2 * form.in_shard, end).reshape(-1, 2).tolist() if end >= 0 else None
        if index is None or any(start + size > end for start, size in index if start != _ABSENT):
            return "not what was written (its index leads beyond its end)"
        frames = [data[start : start + size] for start, size in index if start != _ABSENT]
    for frame in frames:
        size = _content_size(frame)
        if size is None or size > form.bytes or (form.exact and size != form.bytes):
            if not len(frame):
                return "not what was written (it is empty)"
            if size is None:
                return "not what was written (it is not compressed as it should be)"
            return f"not what was written ({size} bytes instead of {form.bytes} bytes)"
        try:
            content = b"" if form.in_shard else decompress(frame)
        except (RuntimeError, ValueError, MemoryError) as error:
            return f"not what was written ({error})"
        # The number of texts comes first, and memory is taken for so many.
        if not form.exact and (count := int.from_bytes(content[:4], "little")) != form.items:
            return f"not what was written ({count} texts instead of {form.items})"
    return ""


_ABSENT, _INDEX_CHECKSUM = 2**64 - 1, 4


MAX_CHUNK = 2**29  # most bytes of a chunk in memory; those that mirflow writes have a few MB
_MOST_TEXTS = 2**24
_ZSTD = 0xFD2FB528


def _content_size(frame: memoryview) -> int | None:
    """Bytes that a frame of zstd says it unpacks to (RFC 8878, 3.1.1.1); None where it does not say."""
    if len(frame) < 6 or int.from_bytes(frame[:4], "little") != _ZSTD:
        return None
    flags = frame[4]
    single = flags >> 5 & 1
    width = (single, 2, 4, 8)[flags >> 6]
    start = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    field = frame[start : start + width]
    if not width or len(field) < width:
        return None
    return int.from_bytes(field, "little") + 256 * (width == 2)


class Form(NamedTuple):
    """How an array is cut: bytes of a chunk in memory, of text at most; its items; the number of chunks in a shard; and
    why it is none that mirflow writes."""

    bytes: int
    exact: bool
    items: int
    in_shard: int
    flaw: str


_form = lru_cache(maxsize=64)(lambda array, inode, changed: form_of(_metadata(array)))
"""Folder of an array, its inode and its time of change -> its form."""


def form_of(metadata: Mapping[str, Any]) -> Form:
    """The form of an array with these contents of ``zarr.json``."""
    outer = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    shards = [codec["configuration"] for codec in metadata["codecs"] if codec["name"] == "sharding_indexed"]
    shape = shards[0]["chunk_shape"] if shards else outer
    in_shard = math.prod(outer) // max(1, math.prod(shape)) if shards else 0
    items, text = math.prod(shape), metadata["data_type"] == "string"
    size = MAX_CHUNK if text else items * np.dtype(metadata["data_type"]).itemsize
    flaw = f"chunks of {items} items" if size > MAX_CHUNK or (text and items > _MOST_TEXTS) else ""
    # Compressed once, and by zstd: others unpack to any size, whatever the first few bytes say.
    codecs, index = metadata["codecs"], ["bytes", "crc32c"]
    if [codec["name"] for codec in codecs] == ["sharding_indexed"]:
        shard = codecs[0]["configuration"]
        codecs, index = shard["codecs"], [codec["name"] for codec in shard["index_codecs"]]
    known = ["vlen-utf8" if text else "bytes", "zstd"], ["bytes", "crc32c"]
    if ([codec["name"] for codec in codecs], index) != known:
        flaw = "codecs that mirflow does not use"
    return Form(size, not text, items, in_shard, flaw)


@dataclass
class ReadArrays:
    """Metadata of arrays of a store that is no folder, kept as they are read, by which chunks are checked."""

    _nodes: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def keep(self, key: str, data: memoryview | None) -> None:
        """Keep the contents of a ``zarr.json``, and the metadata that are gathered in it."""
        if data is None:
            return
        metadata = json.loads(bytes(data))
        nodes = {key.removesuffix(METADATA).rstrip("/"): metadata}
        nodes |= (metadata.get("consolidated_metadata") or {}).get("metadata", {})
        self._nodes |= {path: node for path, node in nodes.items() if node.get("node_type") == "array"}

    def of_chunk(self, key: str) -> str | None:
        """The array that a chunk belongs to, if the key is that of a chunk."""
        steps = key.split("/")
        paths = ("/".join(steps[:end]) for end in range(len(steps) - 1, 0, -1))
        return next((path for path in paths if path in self._nodes), None)

    def is_sparse(self, array: str) -> bool:
        """True if chunks of nothing but fill values were not written."""
        return WRITTEN in self._nodes[array].get("attributes", {})

    def flaw(self, array: str, data: memoryview | None, byte_range: ByteRequest | None) -> str:
        """Fault of the bytes of a chunk, as :func:`flaw_of`; none of the index of a shard, which has a checksum."""
        if data is None or isinstance(byte_range, SuffixByteRequest):
            return ""
        return flaw_of(data, form_of(self._nodes[array]), whole=byte_range is None)


SERVER_REMEDY = "report it to the publisher, or read a copy"
_MOST_OF_FILE = 2**30  # most bytes of a file of a store on a server; those that mirflow writes have a few MB
_KEPT = 2**26  # bytes of whole files that are kept where a server does not send parts of files
_TRIES = 2
_PART = 2**16  # bytes after which the speed of an answer is looked at


class UrlStore(Base):
    """A store on an HTTP server, read only, whose errors name the address. A chunk that the server does not have reads
    as fill values. That is right where it was never written, and a lie where it was lost: then this raises, as it does
    for chunks that unpack to another size than they should."""

    def __init__(self, client: Any, address: Address) -> None:
        super().__init__(client, read_only=True)
        self.address = str(address)
        self.remedy = SERVER_REMEDY
        self._prefix = unquote(address.prefix)
        self._arrays = ReadArrays()
        self._seen: set[tuple[str, str]] = set()
        self._sends_parts = True
        self._whole: OrderedDict[str, memoryview] = OrderedDict()

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """One value; None where it was never written."""
        with requesting():
            data = await self._read(key, byte_range)
        if key.rpartition("/")[2] == METADATA:
            try:
                self._arrays.keep(key, data)
            except (ValueError, AttributeError):
                raise StoreError(f"{self.address}: is not a store: its {METADATA} is not metadata of Zarr") from None
        elif (array := self._arrays.of_chunk(key)) is not None:
            what = self._arrays.flaw(array, data, byte_range)
            if data is None:
                what = "" if self._arrays.is_sparse(array) else "lost"
            if what:
                raise DamagedError(self.address, f"a chunk of {array!r} is {what}", SERVER_REMEDY)
        return None if data is None else prototype.buffer.from_bytes(data)

    async def exists(self, key: str) -> bool:
        """True if the server has a value."""
        return await self._read(key, None) is not None

    def demand(self, array: str, chunk: str) -> None:
        """Raise if the server does not have a chunk of an array."""
        if (array, chunk) in self._seen:
            return
        import obstore
        from obstore.exceptions import BaseError

        try:
            obstore.get(self.store, f"{self._prefix}/{array}/{chunk}")
        except FileNotFoundError:
            raise DamagedError(self.address, f"a chunk of {array!r} is lost", SERVER_REMEDY) from None
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.address}: cannot be read: {reason_of(error)}") from error
        self._seen.add((array, chunk))

    async def _read(self, key: str, byte_range: ByteRequest | None) -> memoryview | None:
        from obstore.exceptions import NotSupportedError

        if byte_range is None:
            return await self._fetch(key, None)
        if self._sends_parts:
            try:
                return await self._fetch(key, byte_range)
            except NotSupportedError:
                self._sends_parts = False
        # Whole files are kept, as their parts are read one after the other.
        data = self._whole.pop(key, None) or await self._fetch(key, None)
        if data is None:
            return None
        self._whole[key] = data
        while sum(map(len, self._whole.values())) > _KEPT and len(self._whole) > 1:
            self._whole.popitem(last=False)
        if isinstance(byte_range, RangeByteRequest):
            return data[byte_range.start : byte_range.end]
        return data[
            byte_range.offset if isinstance(byte_range, OffsetByteRequest) else max(0, len(data) - byte_range.suffix) :
        ]

    async def _fetch(self, key: str, byte_range: ByteRequest | None) -> memoryview | None:
        import obstore
        from obstore.exceptions import BaseError, NotSupportedError, PermissionDeniedError

        options: Any = {}
        if isinstance(byte_range, RangeByteRequest):
            options = {"range": (byte_range.start, byte_range.end)}
        elif isinstance(byte_range, OffsetByteRequest):
            options = {"range": {"offset": byte_range.offset}}
        elif byte_range is not None:
            options = {"range": {"suffix": byte_range.suffix}}
        for attempt in range(1, _TRIES + 1):
            end_of_patience = time.monotonic() + remote.PATIENCE
            try:
                asking = obstore.get_async(self.store, f"{self._prefix}/{key}", options=options)
                answer = await asyncio.wait_for(asking, end_of_patience - time.monotonic())
                if answer.meta["size"] > _MOST_OF_FILE:
                    size = f"{answer.meta['size'] / 2**20:.0f} MB"
                    raise StoreError(
                        f"{self.address}: {key!r} has {size}, more than files of stores have; {SERVER_REMEDY}"
                    )
                first, end = answer.range
                data = bytearray()
                parts = aiter(answer.stream(min_chunk_size=_PART))
                while part := await asyncio.wait_for(anext(parts, b""), end_of_patience - time.monotonic()):
                    data += part
                    end_of_patience += len(part) / SLOWEST
                    if len(data) > end - first:
                        raise StoreError(
                            f"{self.address}: the server sends more of {key!r} than there is; {SERVER_REMEDY}"
                        )
                return memoryview(data)
            except FileNotFoundError:
                return None
            except NotSupportedError:
                raise
            except TimeoutError:
                raise StoreError(f"{self.address}: cannot be read: {TOO_SLOW}") from None
            except (BaseError, OSError) as error:
                array = self._arrays.of_chunk(key)
                if isinstance(error, PermissionDeniedError) and array and self._arrays.is_sparse(array):
                    return None  # as buckets answer that may not be listed
                # The library repeats requests, but not those of which the answer breaks off.
                if attempt == _TRIES or "body error" not in str(error):
                    raise StoreError(f"{self.address}: cannot be read: {reason_of(error)}") from error
                await asyncio.sleep(0.2)
        return None


def _metadata(array: Path) -> dict[str, Any]:
    _demand_file(array, METADATA)
    metadata: dict[str, Any] = json.loads((array / METADATA).read_bytes())
    return metadata


def _files_of(array: zarr.Array[Any]) -> int:
    """Number of files of an array that is not sparse: one for each chunk, or for each shard."""
    files = zip(array.shape, array.shards or array.chunks, strict=True)
    return math.prod(math.ceil(length / size) for length, size in files)


def is_lost(array: Path) -> bool:
    """True if a missing chunk of an array was written once: always, unless the array counts its written chunks."""
    attrs = _metadata(array)["attributes"]
    return WRITTEN not in attrs or sum(map(len, chunk_files(array).values())) < attrs[WRITTEN]


def create_array(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    chunks: tuple[int, ...],
    fill: Any,
    dims: tuple[str, ...],
    attrs: Mapping[str, Any],
    *,
    shards: tuple[int, ...] | None = None,
    sparse: bool = False,
) -> zarr.Array[Any]:
    """An array whose chunks carry checksums: a damaged one raises instead of reading as other numbers. Unless it is
    sparse, chunks of nothing but fill values are written too, so that a lost chunk differs from them. With `shards`, a
    file holds the chunks of a shard, and one of them can be read without the others."""
    separator = SEPARATOR if isinstance(group.store, LocalStore) else "/"
    return group.create_array(
        name,
        shape=shape,
        dtype="string" if dtype.kind == "T" else dtype,
        chunks=tuple(max(1, size) for size in chunks),
        shards=shards,
        fill_value=fill,
        chunk_key_encoding={"name": "default", "configuration": {"separator": separator}},
        compressors=ZstdCodec(level=0, checksum=True),
        dimension_names=dims,
        attributes=dict(attrs),
        config={"write_empty_chunks": not sparse},
    )


def write_array(
    group: zarr.Group,
    name: str,
    values: npt.NDArray[Any],
    dims: tuple[str, ...],
    chunks: tuple[int, ...],
    shards: tuple[int, ...] | None,
    attrs: Mapping[str, Any],
    fill: Any = None,
) -> None:
    """Write one whole variable; without a fill value NaN, an empty text or 0 is it."""
    if fill is None:
        fill = {"T": "", "b": False, "f": np.nan}.get(values.dtype.kind, 0)
    array = create_array(group, name, values.shape, values.dtype, chunks, fill, dims, attrs, shards=shards)
    if values.size:
        array[...] = values


def read_values(
    group: zarr.Group, name: str, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None
) -> npt.NDArray[Any]:
    """Values of a variable of which no chunk is lost: all, or those of some systems, in order; of its last dim all, or
    those at places."""
    array = group.get(name)
    if not isinstance(array, zarr.Array):
        raise ValueError(f"it lacks the variable {name!r}")
    demand_written(array)
    if rows is None:
        return np.asarray(array[...])
    first = rows[0] if rows else 0
    one: Any = slice(first, first + len(rows)) if list(rows) == list(range(first, first + len(rows))) else list(rows)
    if columns is None or list(columns) == list(range(array.shape[-1])):
        return np.asarray(array.oindex[one])
    if not columns:
        return np.empty((len(rows), array.shape[1], 0), array.dtype)
    return np.asarray(array.oindex[(one, slice(None), np.array(columns, dtype=np.int64))])


def demand_written(array: zarr.Array[Any]) -> None:
    """Raise if an array in a folder lacks a chunk that was written; a repository knows its chunks itself."""
    _demand_last(array)
    if not isinstance(array.store, LocalStore):
        return
    written = array.attrs[WRITTEN] if WRITTEN in array.attrs else _files_of(array)
    with unless_replaced(array.store.root):
        if array.size and sum(map(len, chunk_files(array.store.root / array.path).values())) != written:
            raise ValueError(f"chunks of {array.basename!r} are lost")


_MANY = 1000  # files of an array on a server before whose reading it is asked for the last one


def _demand_last(array: zarr.Array[Any]) -> None:
    """Raise if a server lacks the last file of a large array, whose shape is then wrong, before work for all begins."""
    demand = getattr(array.store, "demand", None)
    if demand is not None and WRITTEN not in array.attrs and _files_of(array) > _MANY:
        sides = zip(array.shape, array.shards or array.chunks, strict=True)
        metadata: Any = array.metadata
        demand(array.path, metadata.encode_chunk_key(tuple((length - 1) // size for length, size in sides)))


_SMALL = 2**22  # bytes of an array that takes no longer to read whole than in parts


class StoredArray:
    """Values of an array, read on access. Text is returned as objects. Those along one dim are read once; those of
    other arrays that are `kept`, whole on first use if they are small, and otherwise once all of them have been looked
    at."""

    def __init__(self, array: zarr.Array[Any], *, kept: bool = False) -> None:
        self._array = array
        self._kept = kept
        store: Any = array.store
        self._place: Path | str = store.root if isinstance(store, LocalStore) else store.address
        self._remedy: str = getattr(array.store, "remedy", "remove it and make it again")
        self.dtype = np.dtype(object) if array.dtype.kind == "T" else array.dtype
        self._whole: npt.NDArray[Any] | None = None

    def __call__(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        """Read the product of a slice, an int or int64 places for each dim."""
        generation = self._place if isinstance(self._place, Path) else None
        with reading(self._place, self._remedy, generation):
            if self._whole is None:
                if generation is None:
                    _demand_last(self._array)
                elif self._array.size and WRITTEN not in self._array.attrs:
                    # Before memory is taken for all that it says to have; of a sparse array some are not written.
                    files = chunk_files(generation / self._array.path)
                    if _files_of(self._array) != sum(map(len, files.values())):
                        raise DamagedError(generation, f"a chunk of {self._array.path!r} is lost")
            # All values have been read, or are to be: others will be asked for soon, or all of them are now.
            sides = zip(key, self._array.shape, strict=True)
            wanted = self._whole is not None or self._array.nbytes <= _SMALL
            wanted |= all(isinstance(index, slice) and index.indices(size) == (0, size, 1) for index, size in sides)
            if self._array.ndim == 1 or (self._kept and wanted):
                if self._whole is None:
                    self._whole = np.asarray(self._array[...]).astype(self.dtype, copy=False)
                values = self._whole
                for axis in reversed(range(values.ndim)):
                    values = values[(slice(None),) * axis + (key[axis],)]
                return np.asarray(values)
            product: list[Any] = []
            for index, size in zip(key, self._array.shape, strict=True):
                if isinstance(index, int | np.integer):  # zarr 3.1.2 cannot read a single place of an array with shards
                    product.append(slice(range(size)[index], range(size)[index] + 1))
                elif isinstance(index, slice):
                    product.append(np.arange(size)[index] if (index.step or 1) < 0 else index)
                else:  # zarr reads neighbours faster as a slice than one by one
                    adjacent = len(index) and (np.diff(index) == 1).all()
                    product.append(slice(int(index[0]), int(index[-1]) + 1) if adjacent else index)
            values = np.asarray(self._array.oindex[tuple(product)])
            single = tuple(0 if isinstance(index, int | np.integer) else slice(None) for index in key)
            return np.asarray(values[single], dtype=self.dtype)


@contextmanager
def building(folder: Path, attrs: Mapping[str, Any]) -> Iterator[zarr.Group]:
    """The root group of a store that is built in an empty folder. At the end all metadata are gathered in it, so that
    plain readers open it fast and without a warning."""
    root = zarr.create_group(BuildingStore(folder), zarr_format=3, attributes=dict(attrs))
    yield root
    with warnings.catch_warnings():
        # Zarr warns that other implementations may not know consolidated metadata; they read the store without it.
        warnings.filterwarnings("ignore", "Consolidated metadata is currently not part", UserWarning)
        zarr.consolidate_metadata(root.store)


def open_url(path: str | Path) -> zarr.Group:
    """The root group of plain Zarr at a URL, to be read; raises a StoreError if there is none."""
    address, flaw = parse_address(path), store_flaw(path, written=False)
    if address is None or flaw:
        raise StoreError(f"{as_given(path)}: {flaw or 'is not a URL'}")
    try:
        client = client_of(address.kind, address.bucket, stays=True)
    except ImportError:
        raise StoreError(f"{address}: {NEEDED}") from None
    except Exception as error:  # obstore has no common class of errors for invalid settings
        raise StoreError(f"{address}: cannot be read: {reason_of(error)}") from error
    try:
        root = zarr.open_group(UrlStore(client, address), mode="r", zarr_format=3)
    except FileNotFoundError:
        raise StoreError(f"{address}: no store there (it has no {METADATA}); check the address") from None
    if root.metadata.consolidated_metadata is None:
        raise StoreError(
            f"{address}: its metadata are not consolidated, and folders on servers cannot be listed; download it"
        )
    return root
