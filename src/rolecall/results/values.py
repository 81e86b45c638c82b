"""Keeps what is large, of payloads and results, in a folder or a bucket, and reads it again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from rolecall.app import Next
from rolecall.model.errors import PayloadMissing, ResultMissing
from rolecall.model.large import ELSEWHERE, is_pointer, pointers_in, with_payloads
from rolecall.model.tasks import NewTask
from rolecall.results.middleware import LargeResults
from rolecall.results.stores import ObjectStore, open_store
from rolecall.sql.documents import NotStorable, encode
from rolecall.sql.statement import prepared
from rolecall.worker.context import BatchContext, Context

__all__ = ["LargeValues"]

OVER = 64 * 1024
# What nobody can guess, and no result is called.
PATH = re.compile(r"payload-[0-9a-f]{32}\.json")
AT_ONCE = 8
SMALL = (int, float, bool, type(None))
Fields = prepared(dict[str, msgspec.Raw])


class LargeValues:
    """What an app keeps its large values with: `App("shop", large=LargeValues("s3://shop/large"))`.

    A field of a payload, and a result, of more than `over` bytes as JSON is kept in the store, a bucket
    (`s3://BUCKET/PREFIX`) or a folder that all programs of the app share; the row has a pointer. Handlers are given
    the payload itself. An object is whole before its row commits; what is left of transactions that were undone, and
    what is not needed any more, is the store's to forget. Raises ConfigError for an address that is none.
    """

    def __init__(self, store: ObjectStore | str | Path, *, over: int = OVER) -> None:
        self._store = open_store(store) if isinstance(store, str | Path) else store
        self._over = over
        self._results = LargeResults(self._store, over=over)

    async def __call__(self, ctx: Context | BatchContext, call_next: Next, /) -> object:
        """Stand around an attempt, and keep its result if that is large."""
        return await self._results(ctx, call_next)

    async def keep(self, ctx: Context, result: object) -> object:
        """Return a result for `ctx.complete`, or what points to it. Raises ResultMissing."""
        return await self._results.keep(ctx, result)

    async def read(self, value: object) -> Any:
        """Return the whole payload or result of what a task has. Raises PayloadMissing, ResultMissing."""
        return await asyncio.to_thread(self.read_now, value)

    def read_now(self, value: object) -> Any:
        """Return the whole payload or result, as `read` does; it blocks."""
        if isinstance(value, Mapping) and any(map(is_pointer, value.values())):
            return json.loads(self.attached(json.dumps(value)))
        return self._results.read_now(value)

    def detached(self, batch: Sequence[NewTask], handlers: Container[str]) -> Sequence[NewTask]:
        """Keep the large fields of these handlers' tasks, and return the tasks with pointers; it blocks.

        Raises PayloadMissing.
        """
        found: dict[str, bytes] = {}
        known = (task for task in batch if (task.handler or task.role) in handlers)
        payloads = {id(task): self._small(task.payload, found) for task in known}
        if not found:
            return batch
        try:
            with ThreadPoolExecutor(min(AT_ONCE, len(found))) as threads:
                list(threads.map(self._store.put, found, found.values()))
        except ResultMissing as error:
            raise PayloadMissing(f"a field of a payload cannot be kept: {error}") from None
        return with_payloads(batch, lambda task: payloads.get(id(task), task.payload))

    def attached(self, payload_json: str) -> str:
        """Return a stored payload with all its fields; it blocks. Raises PayloadMissing."""
        if not (kept := pointers_in(payload_json)):
            return payload_json
        fields = msgspec.json.decode(payload_json, type=Fields)
        texts = {name: bytes(raw) for name, raw in fields.items()}
        texts |= {name: self._read(name, json.loads(texts[name])) for name in kept}
        return f"{{{','.join(f'{json.dumps(name)}:{text.decode()}' for name, text in texts.items())}}}"

    def _small(self, payload: Any, found: dict[str, bytes]) -> Any:
        # What is no object at all is refused where it would be stored.
        fields = payload.items() if isinstance(payload, Mapping) else ()
        large = {name: content for name, value in fields if (content := self._large(value)) is not None}
        if not large:
            return payload
        pointers = {}
        for name, content in large.items():
            path = f"payload-{secrets.token_hex(16)}.json"
            found[path] = content
            pointers[name] = {
                "rolecall": ELSEWHERE,
                "store": self._store.url,
                "path": path,
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        return {**payload, **pointers}

    def _large(self, value: object) -> bytes | None:
        """A field as JSON, if it is to be kept elsewhere."""
        if isinstance(value, SMALL) or (isinstance(value, str) and len(value) * 6 <= self._over):
            return None
        try:
            content = encode(value).encode()
        except NotStorable:
            return None  # who stores the task says why
        return content if len(content) > self._over else None

    def _read(self, name: str, pointer: Mapping[str, Any]) -> bytes:
        store, path = pointer["store"], str(pointer["path"])
        # A payload may be anybody's: it leads to no other place than this one, and there to payloads alone.
        if store != self._store.url or not PATH.fullmatch(path):
            raise PayloadMissing(
                f"the field {name!r} is kept as {path!r} in {store!r}, and this reads {self._store.url}"
            )
        try:
            content = self._store.get(path)
        except ResultMissing as error:
            raise PayloadMissing(f"the field {name!r} of the payload cannot be read: {error}") from None
        if hashlib.sha256(content).hexdigest() != pointer["sha256"]:
            raise PayloadMissing(f"the field {name!r} of the payload is not what was kept: {path} was changed")
        return content
