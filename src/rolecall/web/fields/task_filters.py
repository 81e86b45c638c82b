"""Task filters, with the same fields in the query of a list and in the body of a bulk action."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.task_query import LONGEST, combine, read_query
from rolecall.service.services import Services
from rolecall.web.fields.aliases import MARK, SecondNames
from rolecall.web.fields.parameters import LARGEST_ID, LONGEST_PAGE, MOST_IDS, Id, Moment, Names, ShortText, agreed


class Filter(BaseModel):
    """Conditions that must all hold. `status` and `state` are the same filter; both accept stored and derived ones.

    `worker_id` is the same as `worker`, and also accepts a registered worker's name: the latest worker with that name.
    No task matches the name of an unknown worker. `role` and `handler` accept several names, separated by commas.
    Time ranges include `from` and exclude `to`. `text` looks in handler, key, dedupe key, error and payload.
    `error_group` selects the failed tasks of one. `q` is a query such as `role:mail error~429 payload.store:58 age>1h`,
    whose conditions must hold too. Field aliases that set a task's key are filters too.
    """

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra={MARK: True})

    ids: Annotated[list[Id], Field(max_length=MOST_IDS)] | None = None
    state: ShortText | None = None
    status: ShortText | None = None
    role: Names | None = None
    handler: Names | None = None
    key: ShortText | None = None
    worker: Id | None = None
    worker_id: Id | ShortText | None = None
    chain: Id | None = None
    parent: Id | None = None
    roots: bool = False
    text: ShortText | None = None
    created_from: Moment | None = None
    created_to: Moment | None = None
    finished_from: Moment | None = None
    finished_to: Moment | None = None
    error_group: Id | None = None
    q: Annotated[str, Field(min_length=1, max_length=LONGEST)] | None = None


class BodyFilter(Filter):
    """A filter as a JSON object."""

    model_config = ConfigDict(strict=True)


# The id of no worker.
NO_WORKER = 0
# Filters that have the same name in the service.
PLAIN = frozenset(Filter.model_fields) - {"state", "status", "worker", "worker_id", "chain", "parent", "q"}


class Listing(Filter):
    """A filter, and the page of its results to return."""

    cursor: Annotated[ShortText, Field(description="The `next_cursor` of the previous page.")] | None = None
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 50


def task_filter(
    given: Filter, names: SecondNames, *, worker: int | None = None, cursor: str | None = None, limit: int = 50
) -> TaskFilter:
    """Return the filter for the service. `worker` is the worker that `worker_id` names.

    Raises FilterError if two names of the same filter differ or the query is invalid, and RequestValidationError for
    unknown filters.
    """
    words = {name: getattr(given, name) for name in PLAIN}
    which = TaskFilter(
        **words | {"key": names.key(given.model_extra, given.key)},
        state=agreed("state", given.state, "status", given.status),
        worker_id=agreed("worker", given.worker, "worker_id", worker),
        chain_id=given.chain,
        parent_id=given.parent,
        cursor=cursor,
        limit=limit,
    )
    return which if given.q is None else combine(which, read_query(given.q))


async def resolve_filter(
    given: Filter, services: Services, names: SecondNames, *, cursor: str | None = None, limit: int = 50
) -> TaskFilter:
    """Return the filter for the service, after resolving a worker's name. Raises the same errors as `task_filter`."""
    worker = None if given.worker_id is None else await _worker(str(given.worker_id), services)
    return task_filter(given, names, worker=worker, cursor=cursor, limit=limit)


async def _worker(name: str, services: Services) -> int:
    if name.isascii() and name.isdigit() and int(name) <= LARGEST_ID:
        return int(name)
    for worker in await services.workers.list(everyone=True):  # ordered by last heartbeat, latest first
        if worker.name == name:
            return worker.id
    return NO_WORKER
