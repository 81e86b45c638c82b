"""The feed of changes: prices, products, dark stores, held menus, quality alarms. Nothing here commits.

Triggers store a change in the transaction that makes it, without a position. One transaction at a time gives
positions, without gaps, to the changes that are committed. Whoever reads the feed in the order of positions
therefore skips none and gets none twice, in whatever order the transactions committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from psycopg.rows import kwargs_row, scalar_row, tuple_row

from storecrawl.catalog.errors import ChangesDropped, UnknownPosition
from storecrawl.catalog.sql import CHANGES
from storecrawl.statements import Connection, execute, fetch, json_text

# The most positions that one page reads: a page can be empty although more changes match.
MOST_READ: Final = 20_000
MOST_PUBLISHED: Final = 10_000


class ChangeKind(StrEnum):
    """The kind of a change."""

    PRICE_CHANGED = "price_changed"
    PRODUCT_ADDED = "product_added"
    PRODUCT_REMOVED = "product_removed"
    PRODUCT_RETURNED = "product_returned"
    STORE_DARK = "store_dark"
    STORE_LIGHT = "store_light"
    MENU_HELD = "menu_held"
    QUALITY_ALARM = "quality_alarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A published change. `old` and `new` lack the values that are null; prices are in cents.

    `sequence` is the number of the store's fetch that the product shows since.
    """

    position: int
    kind: ChangeKind
    at: datetime
    store_id: int | None
    store_name: str | None
    product_id: int | None
    product_name: str | None
    brand: str | None
    category: str | None
    option: str | None
    old: dict[str, Any] | None
    new: dict[str, Any] | None
    sequence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """Filters of changes; None matches everything. `since` is a position; None starts with the oldest kept change."""

    since: int | None = None
    kinds: Sequence[ChangeKind] | None = None
    store_id: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """Changes in the order of their positions. The next page starts after `next_since`.

    `published` is the last position of the whole feed: more changes may match if it is above `next_since`.
    """

    items: list[Change]
    next_since: int
    published: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """The positions after one up to another."""

    after: int
    last: int


async def read_changes(connection: Connection, criteria: ChangeFilter) -> ChangePage:
    """Return a page of the feed.

    Raises ChangesDropped if retention has deleted changes after `since`, UnknownPosition if the feed does not
    reach `since`.
    """
    [(published, dropped)] = await fetch(connection, CHANGES.feed, {}, tuple_row)
    after = dropped if criteria.since is None else criteria.since
    if after < dropped:
        raise ChangesDropped(after, dropped)
    if after > published:
        raise UnknownPosition(after, published)
    last = min(after + MOST_READ, published)
    parameters = {
        "after": after,
        "last": last,
        "kinds": None if criteria.kinds is None else [kind.value for kind in criteria.kinds],
        "store_id": criteria.store_id,
        "positions": None,
        "limit": criteria.limit,
    }
    items = await fetch(connection, CHANGES.changes_between, parameters, kwargs_row(_change))
    [(_, dropped)] = await fetch(connection, CHANGES.feed, {}, tuple_row)
    if after < dropped:  # retention has deleted some of them meanwhile
        raise ChangesDropped(after, dropped)
    reached = items[-1].position if len(items) == criteria.limit else last
    return ChangePage(items=items, next_since=reached, published=published)


async def changes_at(connection: Connection, positions: Sequence[int]) -> list[Change]:
    """Return the changes at these positions, which are in order, without those that retention has deleted."""
    parameters = {
        "after": positions[0] - 1,
        "last": positions[-1],
        "kinds": None,
        "store_id": None,
        "positions": list(positions),
        "limit": None,
    }
    return await fetch(connection, CHANGES.changes_between, parameters, kwargs_row(_change))


async def publish_changes(connection: Connection) -> Positions:
    """Give committed changes their positions, at most a limited number; return the positions.

    Other publishing transactions wait until the caller's ends.
    """
    [published] = await fetch(connection, CHANGES.lock_feed, {}, scalar_row)
    parameters = {"published": published, "most": MOST_PUBLISHED}
    [added] = await fetch(connection, CHANGES.publish, parameters, scalar_row)
    return Positions(after=published, last=published + added)


async def drop_changes(connection: Connection, older_than: timedelta) -> int:
    """Delete old changes, at most a limited number; return how many."""
    await fetch(connection, CHANGES.lock_feed, {}, scalar_row)
    parameters = {"older_than": older_than, "most": MOST_PUBLISHED}
    [dropped] = await fetch(connection, CHANGES.expire, parameters, scalar_row)
    return int(dropped)


async def last_alarms(connection: Connection) -> dict[str, str]:
    """Return the last reported severity of each check that has reported one."""
    rows = await fetch(connection, CHANGES.last_alarms, {}, tuple_row)
    return dict(rows)


async def add_alarms(connection: Connection, alarms: Sequence[Mapping[str, object]]) -> None:
    """Add quality alarms to the feed, each with its `old` and `new` values."""
    if alarms:
        await execute(connection, CHANGES.add_alarms, {"alarms": json_text(alarms)})


def _change(kind: str, **columns: Any) -> Change:
    return Change(kind=ChangeKind(kind), **columns)
