"""Plain Zarr on HTTP servers, read by blocks: what a query does not need is not fetched.

Imported only where a store at a URL is opened.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest
from zarr.storage import ObjectStore

from ..errors import DamagedError, StoreError
from ..remote import NEEDED, TOO_SLOW, Address, Pace, as_given, client_of, parse_address, reason_of, store_flaw
from .zarr_io import METADATA, ReadArrays, requesting

if TYPE_CHECKING:
    from zarr.abc.buffer import Buffer, BufferPrototype
    from zarr.abc.store import ByteRequest

    Base = ObjectStore[Any]
else:  # not generic before zarr 3.1.4
    Base = ObjectStore

REMEDY = "report it to the publisher, or read a copy"
_MOST = 2**30  # most bytes of a file of a store; those that mirflow writes have a few MB
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
        self.remedy = REMEDY
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
                raise DamagedError(self.address, f"a chunk of {array!r} is {what}", REMEDY)
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
            raise DamagedError(self.address, f"a chunk of {array!r} is lost", REMEDY) from None
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.address}: cannot be read: {reason_of(error)}") from error
        self._seen.add((array, chunk))

    async def _read(self, key: str, byte_range: ByteRequest | None) -> memoryview | None:
        from obstore.exceptions import NotSupportedError

        if byte_range is not None and self._sends_parts:
            try:
                return await self._fetch(key, byte_range)
            except NotSupportedError:
                self._sends_parts = False
        data = await self._fetch_whole(key) if byte_range is not None else await self._fetch(key, None)
        return data if data is None else _part(data, byte_range)

    async def _fetch_whole(self, key: str) -> memoryview | None:
        """A whole file of which parts are read one after the other."""
        if key in self._whole:
            self._whole.move_to_end(key)
            return self._whole[key]
        data = await self._fetch(key, None)
        if data is not None:
            self._whole[key] = data
            while sum(map(len, self._whole.values())) > _KEPT and len(self._whole) > 1:
                self._whole.popitem(last=False)
        return data

    async def _fetch(self, key: str, byte_range: ByteRequest | None) -> memoryview | None:
        import obstore
        from obstore.exceptions import BaseError, NotSupportedError, PermissionDeniedError

        options: Any = {} if byte_range is None else {"range": _asked(byte_range)}
        for attempt in range(1, _TRIES + 1):
            pace = Pace()
            try:
                asking = obstore.get_async(self.store, f"{self._prefix}/{key}", options=options)
                answer = await asyncio.wait_for(asking, pace.left)
                if answer.meta["size"] > _MOST:
                    size = f"{answer.meta['size'] / 2**20:.0f} MB"
                    raise StoreError(f"{self.address}: {key!r} has {size}, more than files of stores have; {REMEDY}")
                first, end = answer.range
                data = bytearray()
                parts = aiter(answer.stream(min_chunk_size=_PART))
                while part := await asyncio.wait_for(anext(parts, b""), pace.left):
                    data += part
                    pace.received(len(part))
                    if len(data) > end - first:
                        raise StoreError(f"{self.address}: the server sends more of {key!r} than there is; {REMEDY}")
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


def _asked(byte_range: ByteRequest) -> Any:
    """A range of bytes as obstore takes it."""
    if isinstance(byte_range, RangeByteRequest):
        return byte_range.start, byte_range.end
    if isinstance(byte_range, OffsetByteRequest):
        return {"offset": byte_range.offset}
    return {"suffix": byte_range.suffix}


def _part(data: memoryview, byte_range: ByteRequest | None) -> memoryview:
    if byte_range is None:
        return data
    if isinstance(byte_range, RangeByteRequest):
        return data[byte_range.start : byte_range.end]
    if isinstance(byte_range, OffsetByteRequest):
        return data[byte_range.offset :]
    return data[max(0, len(data) - byte_range.suffix) :]


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
