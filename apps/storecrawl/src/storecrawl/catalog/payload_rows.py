"""The rows of crawl payloads: enter one beside its file, find one, tell which files no row knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import DifferentPayload, UnknownPayload
from storecrawl.catalog.sql import PAYLOADS
from storecrawl.payloads import WrittenPayload
from storecrawl.statements import Connection, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPayload:
    """A row: all that is needed to read the file back and to apply it again. Sizes in bytes.

    `product_count` is of the document as fetched; what it was when first applied is None before that, and so is what
    was refused when it was last applied. At `expired_at` its file was removed; the row stays. `raw_menu_id` names the
    answers that it was merged of.
    """

    id: int
    store_id: int
    task_id: int | None
    storage_path: str
    product_count: int
    size_raw: int
    size_gz: int
    sha256: str
    fetched_at: datetime
    created_at: datetime
    applied_at: datetime | None
    applied_count: int | None
    complete: bool | None
    refused_products: int | None
    refused_options: int | None
    expired_at: datetime | None
    raw_menu_id: int | None


async def record_payload(
    connection: Connection,
    written: WrittenPayload,
    *,
    store_id: int,
    task_id: int | None,
    fetched_at: datetime,
    product_count: int,
) -> int:
    """Enter a written file and note the fetch at its store; return the payload's id.

    The same file gives the same id a second time; DifferentPayload when its path belongs to another.
    """
    parameters = {
        "path": written.path,
        "size_raw": written.size_raw,
        "size_gz": written.size_gz,
        "sha256": written.sha256,
        "store_id": store_id,
        "task_id": task_id,
        "fetched_at": fetched_at,
        "product_count": product_count,
    }
    ids = await fetch(connection, PAYLOADS.record_payload, parameters, scalar_row)
    if not ids:
        raise DifferentPayload(written.path)
    return int(ids[0])


async def find_payload(connection: Connection, payload_id: int) -> StoredPayload:
    """The row of a payload; raises UnknownPayload."""
    rows = await fetch(connection, PAYLOADS.payload_by_id, {"payload_id": payload_id}, class_row(StoredPayload))
    if not rows:
        raise UnknownPayload(payload_id)
    return rows[0]


async def without_row(connection: Connection, paths: Sequence[str]) -> list[str]:
    """Those of some paths that no row names."""
    return await fetch(connection, PAYLOADS.paths_without_payload, {"paths": list(paths)}, scalar_row)
