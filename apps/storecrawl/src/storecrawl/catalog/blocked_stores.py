"""Stores whose menu the upstream refuses to us: left alone for a while, longer each time, until a menu comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.sql import STORES
from storecrawl.statements import Connection, fetch

LONGEST = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedStores:
    """How many of the stores that may be crawled are blocked, since when the first of them, and why the latest."""

    blocked: int
    stores: int
    since: datetime | None
    because: str | None


async def block_store(connection: Connection, store_id: int, because: str, *, first: timedelta) -> float:
    """Note that a store is blocked; returns for how many seconds, `first` doubled each time in a row, to a day."""
    parameters = {
        "store_id": store_id,
        "because": because,
        "first": first.total_seconds(),
        "longest": LONGEST.total_seconds(),
    }
    [seconds] = await fetch(connection, STORES.block_store, parameters, scalar_row)
    return float(seconds)


async def count_blocked_stores(connection: Connection) -> BlockedStores:
    """How many stores are blocked now."""
    return (await fetch(connection, STORES.count_blocked_stores, {}, class_row(BlockedStores)))[0]
