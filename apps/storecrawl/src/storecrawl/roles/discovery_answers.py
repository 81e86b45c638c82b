"""Keep the raw answers to discovery: the file first, its row in the transaction that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import psycopg

from rolecall import Context
from storecrawl.catalog.discovery import AnswerKind, record_answer
from storecrawl.crawler import Crawler
from storecrawl.payloads import WrittenPayload

Connection = psycopg.AsyncConnection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer whose file is written and whose row is not."""

    kind: AnswerKind
    subject: str
    records: int
    written: WrittenPayload

    async def record(self, connection: Connection, ctx: Context) -> int:
        """Enter the row; returns the discovery payload's id."""
        return await record_answer(
            connection,
            self.written,
            kind=self.kind,
            subject=self.subject,
            task_id=ctx.task_id,
            record_count=self.records,
        )


async def keep_answer(
    ctx: Context, crawler: Crawler, kind: AnswerKind, subject: str, records: Sequence[object]
) -> KeptAnswer:
    """Write what the upstream said as a file; a crash before its row leaves a file that is collected later."""
    document = await crawler.in_thread(msgspec.json.encode, {"kind": kind, "subject": subject, "records": records})
    written = await crawler.in_thread(crawler.payloads.write_answer, document, task_id=ctx.task_id, attempt=ctx.attempt)
    return KeptAnswer(kind=kind, subject=subject, records=len(records), written=written)
