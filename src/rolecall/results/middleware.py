"""Stores large results of handlers elsewhere, and reads them."""

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
from rolecall.sql.encoding import NotStorable, encode
from rolecall.worker.context import BatchContext, Context

OVER = 64 * 1024
PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class LargeResults:
    """A middleware that stores results of more than `over` bytes in a store, and reads them.

    If the store does not respond, the attempt fails and is retried. A result passed to `ctx.complete` does not go
    through the middleware; the handler calls `keep` for it.
    """

    def __init__(self, store: ObjectStore | str | Path, *, over: int = OVER) -> None:
        self._store = open_store(store) if isinstance(store, str | Path) else store
        self._over = over

    async def __call__(self, ctx: Context | BatchContext, call_next: Next) -> object:
        """Run an attempt and store its result if it is large."""
        result = await call_next()
        if isinstance(ctx, BatchContext):
            if not isinstance(result, list):
                return result
            return [await self.keep(one, each) for one, each in zip(ctx.tasks, result, strict=True)]
        return await self.keep(ctx, result)

    async def keep(self, ctx: Context, result: object) -> object:
        """Return the result, or a pointer to it. Raises ResultMissing if the store does not respond."""
        if result is None or isinstance(result, NoResult | BaseException | StoredElsewhere):
            return result
        try:
            content = encode(ctx.written(result)).encode()
        except NotStorable:
            return result  # the worker reports the error
        if len(content) <= self._over:
            return result
        path = f"{ctx.task_id}-{ctx.attempt}-{secrets.token_hex(4)}.json"
        await asyncio.to_thread(self._store.put, path, content)
        digest = hashlib.sha256(content).hexdigest()
        return StoredElsewhere(result, store=self._store.url, path=path, size=len(content), sha256=digest)

    async def read(self, result: object) -> Any:
        """Return the result that a task's `result` contains or points to.

        It has the declared type if the task was read through its Enqueued. Raises ResultMissing.
        """
        return await asyncio.to_thread(self.read_now, result)

    def read_now(self, result: object) -> Any:
        """Return the result like `read`, blocking."""
        pointer = _pointer(result)
        if pointer is None:
            return result
        store, path = pointer["store"], str(pointer["path"])
        # Rows are not trusted. A pointer can only refer to this store.
        if store != self._store.url or not PATH.fullmatch(path):
            raise ResultMissing(f"the result is stored as {path!r} in {store!r}, not in {self._store.url}")
        content = self._store.get(path)
        if hashlib.sha256(content).hexdigest() != pointer["sha256"]:
            raise ResultMissing(f"the result {path} has been changed")
        whole = json.loads(content)
        return result.returns.read(whole) if isinstance(result, ResultPointer) else whole


def _pointer(result: object) -> Mapping[str, Any] | None:
    is_one = isinstance(result, Mapping) and result.keys() == POINTER and result["rolecall"] == ELSEWHERE
    return result if is_one else None  # type: ignore[return-value]  # it was looked at
