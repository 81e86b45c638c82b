"""Which tasks are meant: the same words in the query of a list and in the body of a bulk action."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rolecall.model.errors import FilterError
from rolecall.model.insight import TaskFilter
from rolecall.web.fields import LONGEST_PAGE, Id, Moment, ShortText

__all__ = ["BodyFilter", "Filter", "Listing", "meant"]

MOST_IDS = 1_000


class Filter(BaseModel):
    """What must hold of a task, all together; `status` is another word for `state`, and either takes both kinds.

    Of the times, `from` is included and `to` is not. `text` is looked for in
    handler, key, dedupe key, error and payload.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ids: Annotated[list[Id], Field(max_length=MOST_IDS)] | None = None
    state: ShortText | None = None
    status: ShortText | None = None
    role: ShortText | None = None
    handler: ShortText | None = None
    key: ShortText | None = None
    worker: Id | None = None
    chain: Id | None = None
    parent: Id | None = None
    roots: bool = False
    text: ShortText | None = None
    created_from: Moment | None = None
    created_to: Moment | None = None
    finished_from: Moment | None = None
    finished_to: Moment | None = None


class BodyFilter(Filter):
    """A filter as a JSON object."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Listing(Filter):
    """A filter, and which page of what it finds."""

    cursor: Annotated[ShortText, Field(description="The `next_cursor` of the page before.")] | None = None
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 50


def meant(which: Filter, *, cursor: str | None = None, limit: int = 50) -> TaskFilter:
    """Make the filter that the service takes. Raises FilterError."""
    if which.state and which.status:
        raise FilterError("state and status are the same filter: give one of them")
    words = which.model_dump(exclude={"status", "worker", "chain", "parent", "cursor", "limit"})
    words["state"] = which.state or which.status
    return TaskFilter(
        **words, worker_id=which.worker, chain_id=which.chain, parent_id=which.parent, cursor=cursor, limit=limit
    )
