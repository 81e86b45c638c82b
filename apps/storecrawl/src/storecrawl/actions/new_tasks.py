"""Tasks for many stores: all at the same time, spread over a day, or one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from types import MappingProxyType
from typing import Any, Final, Literal, Self

import psycopg

from rolecall import Dedupe, Enqueued, NewTask
from storecrawl.catalog import UnknownStore, find_store, latest_payload
from storecrawl.roles.image_fetch import image_task
from storecrawl.roles.payload_fetch import fetch_task, investigation_task, replay_task, resync_task
from storecrawl.roles.store_discovery import discovery_task, first_crawl

Connection = psycopg.AsyncConnection[Any]

StoreRole = Literal[
    "payload_fetch", "product_discovery", "product_resync", "product_refresh", "image_fetch", "entry_point_discovery"
]
PoolRole = Literal["store_discovery", "analytics_refresh", "storage_upkeep"]

BATCHES = 6
DAY = timedelta(days=1)
# For requests by people: a pending task that a schedule has enqueued for later gets the requested time.
MANUAL_REQUEST = Dedupe(mode="replace")
# A completed resync counts as generated.
ONCE = Dedupe(scope="any")

STORE_TASKS: Final[Mapping[str, Callable[[int], NewTask]]] = MappingProxyType(
    {
        "payload_fetch": fetch_task,
        "product_discovery": first_crawl,
        "product_resync": resync_task,
        "image_fetch": image_task,
    }
)
# Tasks that are not about one store; an open one is kept.
POOL_TASKS: Final[Mapping[str, NewTask]] = MappingProxyType(
    {
        "analytics_refresh": NewTask(handler="analytics_refresh", dedupe_key="asked for"),
        "storage_upkeep": NewTask(handler="orphan_sweep", dedupe_key="asked for"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Stores that are resynced at the same time of a day."""

    scheduled_for: datetime
    store_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """How many tasks were stored, how many existed, and the ids of all, in the order of their stores."""

    stored: int
    standing: int
    task_ids: list[int]

    @classmethod
    def of(cls, answers: Sequence[Enqueued]) -> Self:
        standing = sum(answer.deduplicated for answer in answers)
        return cls(stored=len(answers) - standing, standing=standing, task_ids=[answer.id for answer in answers])


def resync(store_ids: Sequence[int], day: date, batches: int = BATCHES) -> tuple[list[Batch], list[NewTask]]:
    """Spread stores evenly over a day (UTC); return the batches and the tasks, the same ones for the same day.

    With six batches the times are 00, 04, 08, 12, 16 and 20 h. The sizes of batches differ by at most one store.
    Batches in the past are due at once.
    """
    midnight = datetime.combine(day, time(), UTC)
    bounds = [len(store_ids) * number // batches for number in range(batches + 1)]
    planned_batches = [
        Batch(scheduled_for=midnight + DAY * number / batches, store_ids=store_ids[bounds[number] : bounds[number + 1]])
        for number in range(batches)
    ]
    return planned_batches, [
        _resync_on(day, store_id, batch.scheduled_for) for batch in planned_batches for store_id in batch.store_ids
    ]


def discovery(states: Sequence[str] = (), platform: str | None = None, priority: int | None = None) -> NewTask:
    """Return the task that searches a platform or all, in these or all covered states; one such search is open."""
    covered = sorted({state.upper() for state in states})
    task = discovery_task(covered, platform)
    return task if priority is None else task.options(priority=priority)


async def tasks_for_stores(connection: Connection, role: StoreRole, store_ids: Sequence[int]) -> list[NewTask]:
    """Return a task of a role for each store.

    A refresh is of the store's latest payload; an entry point discovery uses the store's id, or its slug. Raises
    UnknownStore, NoPayload.
    """
    return [await _task_for_store(connection, role, store_id) for store_id in dict.fromkeys(store_ids)]


def stagger_tasks(tasks: Sequence[NewTask], begin: datetime | None, stagger_seconds: float = 0.0) -> list[NewTask]:
    """Return the same tasks, staggered from `begin` on; without it, all at once."""
    if begin is None:
        return list(tasks)
    moments = (begin + timedelta(seconds=number * stagger_seconds) for number in count())
    return [task.options(scheduled_for=moment) for task, moment in zip(tasks, moments, strict=False)]


def as_manual_requests(tasks: Iterable[NewTask]) -> list[NewTask]:
    """Return the same tasks as requests by people: a pending one for later gets the new one's time."""
    return [task.options(dedupe=MANUAL_REQUEST) for task in tasks]


async def _task_for_store(connection: Connection, role: StoreRole, store_id: int) -> NewTask:
    if role == "product_refresh":
        return replay_task(store_id, (await latest_payload(connection, store_id)).id)
    if role == "entry_point_discovery":
        entry = (await find_store(connection, store_id)).entry
        if entry is None:
            raise UnknownStore([store_id], noun="store with a platform id or a slug:")
        return investigation_task(store_id, entry)
    return STORE_TASKS[role](store_id)


def _resync_on(day: date, store_id: int, moment: datetime) -> NewTask:
    dedupe_key = f"resync:{store_id}:{day.isoformat()}"
    return resync_task(store_id).options(scheduled_for=moment, dedupe_key=dedupe_key, dedupe=ONCE)
