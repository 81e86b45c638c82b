"""The days of the lake: those to be written, and the records of their files. Nothing here commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta

from psycopg.rows import class_row, scalar_row

from storecrawl.lake.sql import LAKE
from storecrawl.statements import Connection, execute, fetch

PART = "lake"
"""The folder, or part of the prefix, with the files of the lake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeDay:
    """The prices of a platform and a state on a UTC day: one file."""

    platform: str
    state: str
    day: date

    @property
    def path(self) -> str:
        return f"prices/platform={self.platform}/state={self.state}/day={self.day}/prices.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A store whose day must be written, with the version of that mark."""

    store_id: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeLag:
    """The stores whose prices wait for too long."""

    since: datetime | None
    stores: int


async def marked_days(connection: Connection) -> list[LakeDay]:
    """Return the days that must be written, oldest first."""
    return await fetch(connection, LAKE.marked_days, {}, class_row(LakeDay))


async def marks_of(connection: Connection, day: LakeDay) -> list[Mark]:
    """Return the marks of a day. Read them before its prices: a later mark has another version."""
    return await fetch(connection, LAKE.marks_of_day, asdict(day), class_row(Mark))


async def hold_file(connection: Connection, day: LakeDay) -> None:
    """Wait until no other transaction writes the file of a day."""
    await execute(connection, LAKE.hold_file, {"path": day.path})


async def remove_marks(connection: Connection, day: LakeDay, marks: Sequence[Mark]) -> None:
    """Remove the marks of a written day, except those that were renewed meanwhile."""
    stores, versions = [mark.store_id for mark in marks], [mark.version for mark in marks]
    parameters = {"state": day.state, "day": day.day, "stores": stores, "versions": versions}
    await execute(connection, LAKE.remove_marks, parameters)


async def record_file(connection: Connection, day: LakeDay, *, row_count: int, size: int) -> None:
    """Record a written file; `size` is in bytes."""
    parameters = {**asdict(day), "path": day.path, "row_count": row_count, "size": size}
    await execute(connection, LAKE.record_file, parameters)


async def forget_files(connection: Connection, paths: Sequence[str]) -> None:
    """Remove the records of files."""
    await execute(connection, LAKE.forget_files, {"paths": list(paths)})


async def files_before(connection: Connection, before: date) -> list[str]:
    """Return the paths of the files of earlier days."""
    return await fetch(connection, LAKE.files_before, {"before": before}, scalar_row)


async def remove_marks_before(connection: Connection, before: date) -> None:
    """Remove the marks of earlier days: they are not written any more."""
    await execute(connection, LAKE.remove_old_marks, {"before": before})


async def lake_lag(connection: Connection, longer_than: timedelta) -> LakeLag:
    """Return the stores whose prices have waited for longer than `longer_than`."""
    return (await fetch(connection, LAKE.lag, {"longer_than": longer_than}, class_row(LakeLag)))[0]
