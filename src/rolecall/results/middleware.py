"""Keeps what handlers return elsewhere where it is large, and reads it again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rolecall.app import Next
from rolecall.model.errors import ResultMissing
from rolecall.model.large import POINTER
from rolecall.model.outcomes import ELSEWHERE, NoResult, ResultPointer, StoredElsewhere
from rolecall.results.stores import ObjectStore, open_store
from rolecall.sql.documents import NotStorable, encode
from rolecall.worker.context import BatchContext, Context

__all__ = ["LargeResults"]

OVER = 64 * 1024
PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class LargeResults:
    """The middleware that keeps results of more than `over` bytes in a store, and what reads them.

    Where the store gives no answer the attempt fails, and is tried again. What a handler completes by itself
    (`ctx.complete`) passes it by: there it calls `keep`.
    """

    def __init__(self, store: ObjectStore | str | Path, *, over: int = OVER) -> None:
        self._store = open_store(store) if isinstance(store, str | Path) else store
        self._over = over

    async def __call__(self, ctx: Context | BatchContext, call_next: Next) -> object:
        """Stand around an attempt."""
        result = await call_next()
        if isinstance(ctx, BatchContext):
            if not isinstance(result, list):
                return result
            return [await self.keep(one, each) for one, each in zip(ctx.tasks, result, strict=True)]
        return await self.keep(ctx, result)

    async def keep(self, ctx: Context, result: object) -> object:
        """Return the result, or what points to it. Raises ResultMissing where its store gives no answer."""
        if result is None or isinstance(result, NoResult | BaseException | StoredElsewhere):
            return result
        try:
            content = encode(ctx.written(result)).encode()
        except NotStorable:
            return result  # the worker says why
        if len(content) <= self._over:
            return result
        path = f"{ctx.task_id}-{ctx.attempt}-{secrets.token_hex(4)}.json"
        await asyncio.to_thread(self._store.put, path, content)
        digest = hashlib.sha256(content).hexdigest()
        return StoredElsewhere(result, store=self._store.url, path=path, size=len(content), sha256=digest)

    async def read(self, result: object) -> Any:
        """Return the result itself, given the result that a task has.

        It has the declared type if the task was read by its Enqueued. Raises ResultMissing.
        """
        return await asyncio.to_thread(self.read_now, result)

    def read_now(self, result: object) -> Any:
        """Return the result itself, as `read` does; it blocks."""
        pointer = _pointer(result)
        if pointer is None:
            return result
        store, path = pointer["store"], str(pointer["path"])
        # A row may be anybody's: it leads to no other place than this one.
        if store != self._store.url or not PATH.fullmatch(path):
            raise ResultMissing(f"the result is kept as {path!r} in {store!r}, and this reads {self._store.url}")
        content = self._store.get(path)
        if hashlib.sha256(content).hexdigest() != pointer["sha256"]:
            raise ResultMissing(f"the result {path} is not what was kept")
        whole = json.loads(content)
        return result.returns.read(whole) if isinstance(result, ResultPointer) else whole


def _pointer(result: object) -> Mapping[str, Any] | None:
    is_one = isinstance(result, Mapping) and result.keys() == POINTER and result["rolecall"] == ELSEWHERE
    return result if is_one else None  # type: ignore[return-value]  # it was looked at
