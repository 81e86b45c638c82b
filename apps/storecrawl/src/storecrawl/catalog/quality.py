"""The quality of the crawl: lost values, failing fetches, and stores without a current menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row

from storecrawl.catalog.sql import QUALITY
from storecrawl.statements import Connection, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldField:
    """A field that lost its values in menus of `stores`, which are held since then.

    `payload_id` is the latest held payload, and `because` its reason.
    """

    field: str
    stores: int
    since: datetime
    because: str
    payload_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingStores:
    """The stores whose last attempt failed with one class of error, and the text of the latest one.

    Of these, `lasting` failed three times in a row, or permanently.
    """

    error: str
    stores: int
    lasting: int
    since: datetime
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleStores:
    """How many of the crawled stores lack a current menu, and the time of the oldest one."""

    stale: int
    stores: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownField:
    """The average share of known values of a field, in the last applied `menus` of the stores."""

    field: str
    share: float
    menus: int


async def held_fields(connection: Connection) -> list[HeldField]:
    """Return the fields for which menus are held, those of most stores first."""
    return await fetch(connection, QUALITY.held_fields, {}, class_row(HeldField))


async def failing_stores(connection: Connection, roles: Sequence[str], within: timedelta) -> list[FailingStores]:
    """Count the stores whose tasks of these roles fail now, or failed permanently in this time, by class of error."""
    parameters = {"roles": list(roles), "within": within}
    return await fetch(connection, QUALITY.failing_stores, parameters, class_row(FailingStores))


async def stale_stores(connection: Connection, within: timedelta) -> StaleStores:
    """Count the stores without a menu fetched in this time."""
    return (await fetch(connection, QUALITY.stale_stores, {"within": within}, class_row(StaleStores)))[0]


async def known_fields(connection: Connection) -> list[KnownField]:
    """Return the average shares of known values, by field."""
    return await fetch(connection, QUALITY.known_fields, {}, class_row(KnownField))
