"""Stores large payload fields and results in a folder or a bucket, and reads them."""

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
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.statement import compiled
from rolecall.worker.context import BatchContext, Context

OVER = 64 * 1024
# Part of an object's name. It cannot be guessed and no result has it.
PATH = re.compile(r"payload-[0-9a-f]{32}\.json")
AT_ONCE = 8
SMALL = (int, float, bool, type(None))
Fields = compiled(dict[str, msgspec.Raw])


class LargeValues:
    """The store of an app's large values: `App("shop", large=LargeValues("s3://shop/large"))`.

    Payload fields and results of more than `over` bytes as JSON are stored in a bucket (`s3://BUCKET/PREFIX`) or in a
    folder that all programs of the app share. The row contains a pointer; handlers receive the whole payload. An object
    is complete before its row commits. Objects of rolled-back transactions and those that are no longer needed must be
    removed by the store. Raises ConfigError for an invalid address.
    """

    def __init__(self, store: ObjectStore | str | Path, *, over: int = OVER) -> None:
        self._store = open_store(store) if isinstance(store, str | Path) else store
        self._over = over
        self._results = LargeResults(self._store, over=over)

    async def __call__(self, ctx: Context | BatchContext, call_next: Next, /) -> object:
        """Run an attempt and store its result if it is large."""
        return await self._results(ctx, call_next)

    async def keep(self, ctx: Context, result: object) -> object:
        """Return a result for `ctx.complete`, or a pointer to it. Raises ResultMissing."""
        return await self._results.keep(ctx, result)

    async def read(self, value: object) -> Any:
        """Return the whole payload or result of a task's value. Raises PayloadMissing, ResultMissing."""
        return await asyncio.to_thread(self.read_now, value)

    def read_now(self, value: object) -> Any:
        """Return the whole payload or result like `read`, blocking."""
        if isinstance(value, Mapping) and any(map(is_pointer, value.values())):
            return json.loads(self.attached(json.dumps(value)))
        return self._results.read_now(value)

    def detached(self, batch: Sequence[NewTask], handlers: Container[str]) -> Sequence[NewTask]:
        """Store the large fields of these handlers' tasks. Return the tasks with pointers. Blocking.

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
            raise PayloadMissing(f"a field of a payload cannot be stored: {error}") from None
        return with_payloads(batch, lambda task: payloads.get(id(task), task.payload))

    def attached(self, payload_json: str) -> str:
        """Return a stored payload with all its fields. Blocking. Raises PayloadMissing."""
        if not (kept := pointers_in(payload_json)):
            return payload_json
        fields = msgspec.json.decode(payload_json, type=Fields)
        texts = {name: bytes(raw) for name, raw in fields.items()}
        texts |= {name: self._read(name, json.loads(texts[name])) for name in kept}
        return f"{{{','.join(f'{json.dumps(name)}:{text.decode()}' for name, text in texts.items())}}}"

    def _small(self, payload: Any, found: dict[str, bytes]) -> Any:
        # Anything but an object is rejected where it would be stored.
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
        """Return a field as JSON if it is large enough to be stored elsewhere."""
        if isinstance(value, SMALL) or (isinstance(value, str) and len(value) * 6 <= self._over):
            return None
        try:
            content = encode(value).encode()
        except NotStorable:
            return None  # the enqueue reports the error
        return content if len(content) > self._over else None

    def _read(self, name: str, pointer: Mapping[str, Any]) -> bytes:
        store, path = pointer["store"], str(pointer["path"])
        # Payloads are not trusted. A pointer can only refer to this store, and there only to payloads.
        if store != self._store.url or not PATH.fullmatch(path):
            raise PayloadMissing(f"the field {name!r} is stored as {path!r} in {store!r}, not in {self._store.url}")
        try:
            content = self._store.get(path)
        except ResultMissing as error:
            raise PayloadMissing(f"the field {name!r} of the payload cannot be read: {error}") from None
        if hashlib.sha256(content).hexdigest() != pointer["sha256"]:
            raise PayloadMissing(f"the field {name!r} of the payload has been changed: {path}")
        return content
