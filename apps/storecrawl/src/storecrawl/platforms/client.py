"""Requests to one endpoint of a platform, with retries and typed errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, TypeVar

from storecrawl.egress import Egress, Rates, Visit
from storecrawl.platforms.exchange import Exchange, Reply, checked_base
from storecrawl.platforms.options import HttpOptions
from storecrawl.platforms.replies import json_of
from storecrawl.platforms.retry import RetryRule

T = TypeVar("T")
MOST_ON_THE_LOOP = 100_000
NONE: Mapping[str, str] = {}


class HttpClient:
    """Client of one endpoint. Raises ForbiddenUrl if its address is not plain http or https.

        async with client.visit(store="4711") as visit:
            page = await client.get_json(visit, "/menu", {"page": "0"})

    A visit serves one purpose: a store's menu, or one lookup.
    """

    def __init__(  # sizes: an endpoint, and how it is reached
        self,
        url: str,
        *,
        options: HttpOptions,
        egress: Egress,
        rates: Rates | None = None,
        random: Random | None = None,
    ) -> None:
        base = checked_base(url)
        self.options = options
        self.exchange = Exchange(base, options)
        self.rule = RetryRule(options, random or Random())
        self._host = base.netloc.decode("ascii")
        self._egress = egress
        self._rates = rates

    def visit(self, *, store: str | None = None, about: str | None = None) -> AbstractAsyncContextManager[Visit]:
        """Return the context manager of a visit about a store, or about any other subject."""
        return self._egress.visit(self._host, store=store, about=about, rates=self._rates)

    async def get_json(self, visit: Visit, path: str, params: Mapping[str, str] = NONE) -> Any:
        """Return the JSON value of a GET request."""
        return await self.get(visit, path, params, json_of)

    async def get(self, visit: Visit, path: str, params: Mapping[str, str], read: Callable[[Reply], T]) -> T:
        """Return what `read` makes of the response. Its errors decide about a retry."""

        async def attempt() -> T:
            return await read_reply(await self.exchange.get(visit, path, params), read)

        return await self.rule.run(visit, attempt)


async def read_reply(reply: Reply, read: Callable[[Reply], T]) -> T:
    """Read a response, a large one in a thread: to find errors in it may take long."""
    if len(reply.body) <= MOST_ON_THE_LOOP:
        return read(reply)
    return await asyncio.to_thread(read, reply)
