"""Rows of discovery payloads: the raw responses to discovery, stored as files next to the crawl payloads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import UnknownPayload
from storecrawl.catalog.sql import ANSWERS
from storecrawl.payloads import WrittenPayload
from storecrawl.statements import Connection, fetch

AnswerKind = Literal["cities", "stores", "entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryPayload:
    """The row of a discovery payload; `subject` is the search: AZ, AZ/Phoenix, or an entry point. Sizes in bytes."""

    id: int
    platform: str
    kind: AnswerKind
    subject: str
    task_id: int
    storage_path: str
    record_count: int
    size_raw: int
    size_gz: int
    sha256: str
    fetched_at: datetime


async def record_answer(  # sizes: the columns of the row
    connection: Connection,
    written: WrittenPayload,
    *,
    platform: str,
    kind: AnswerKind,
    subject: str,
    task_id: int,
    record_count: int,
) -> int:
    """Record a written file; return the discovery payload's id."""
    parameters = {
        "platform": platform,
        "kind": kind,
        "subject": subject,
        "task_id": task_id,
        "path": written.path,
        "record_count": record_count,
        "size_raw": written.size_raw,
        "size_gz": written.size_gz,
        "sha256": written.sha256,
    }
    return int((await fetch(connection, ANSWERS.record_answer, parameters, scalar_row))[0])


async def list_answers(
    connection: Connection,
    *,
    kind: AnswerKind | None = None,
    subject: str | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[DiscoveryPayload]:
    """Return a page of discovery payloads, the newest first; `before` is the last id of the previous page."""
    parameters = {"kind": kind, "subject": subject, "before": before, "limit": limit}
    return await fetch(connection, ANSWERS.list_answers, parameters, class_row(DiscoveryPayload))


async def find_answer(connection: Connection, answer_id: int) -> DiscoveryPayload:
    """Return a discovery payload. Raises UnknownPayload."""
    rows = await fetch(connection, ANSWERS.answer_by_id, {"answer_id": answer_id}, class_row(DiscoveryPayload))
    if not rows:
        raise UnknownPayload(answer_id)
    return rows[0]
