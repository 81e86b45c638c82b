"""Store fetched data before it is parsed: a menu's responses, the merged menu, responses to discovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import psycopg

from rolecall import Context
from storecrawl.catalog import (
    BegunFetch,
    Fetch,
    NewestMenu,
    mark_raw_expired,
    record_payload,
    record_raw_menu,
    refused_beyond,
)
from storecrawl.catalog.discovery import AnswerKind, record_answer
from storecrawl.catalog.stored_files import lock_files, needed_files
from storecrawl.payloads import PayloadError, WrittenPayload
from storecrawl.platforms.protocol import FetchedMenu
from storecrawl.platforms.raw_pages import RawPage, write_raw_pages
from storecrawl.roles.crawler import Crawler
from storecrawl.roles.file_removal import removal
from storecrawl.roles.store_tasks import CrawlStore

Connection = psycopg.AsyncConnection[Any]
CLIENT_ERRORS = 400
LONGEST_PROBLEM = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMenu:
    """A menu whose files are written and whose rows are not."""

    menu: FetchedMenu | NewestMenu
    written: WrittenPayload
    raw: WrittenPayload
    product_count: int
    fetch: Fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchArchive:
    """Stores one fetch of a store whose newest menu is `newest`; `answers` are the responses so far.

    `base` is the path of the full file of which the fetch's raw menu can be a delta.
    """

    ctx: Context
    crawler: Crawler
    store: CrawlStore
    begun: BegunFetch
    newest: NewestMenu | None
    base: str | None = None
    answers: list[RawPage] = field(default_factory=list)

    async def fetch(self) -> FetchedMenu | NewestMenu:
        """Fetch the menu; return the store's newest one if the responses are the same."""
        platform, digests = self.crawler.platform(self.store.platform), self.newest.digests if self.newest else ()
        menu = await platform.fetch(self.store.address, keep=self.answers.append, digests=digests)
        if menu is not None:
            return menu
        if self.newest is None:
            raise LookupError("a first fetch returned no menu")
        return self.newest

    async def write(self, menu: FetchedMenu | NewestMenu) -> ArchivedMenu:
        """Write both files. If the task crashes before their rows are written, the sweep removes them."""
        return await self.crawler.run_in_thread(self._write_files, menu, self.base)

    def _write_files(self, menu: FetchedMenu | NewestMenu, base: str | None) -> ArchivedMenu:
        raw, payloads = self._write_raw(base), self.crawler.payloads
        fetch = self._fetch(menu.digests)
        if isinstance(menu, NewestMenu):
            try:
                written = payloads.write_again(self.store.id, menu.path, menu.sha256, menu.size_raw, **self._origin)
                return ArchivedMenu(menu=menu, written=written, raw=raw, product_count=menu.product_count, fetch=fetch)
            except PayloadError as trouble:
                self.ctx.log.warning("The menu is merged again, since the previous file cannot be used: %s", trouble)
                menu = self.crawler.platform(self.store.platform).merge(self.store.address, self.answers)
        document = msgspec.json.encode(menu.document())
        # The responses contain the menu, so that the difference to them is small.
        written = payloads.write(self.store.id, document, base=raw.base_path or raw.path, **self._origin)
        return ArchivedMenu(menu=menu, written=written, raw=raw, product_count=menu.product_count, fetch=fetch)

    async def record(self, tx: Connection, menu: ArchivedMenu) -> int:
        """Write the rows of both, and the files again if they were removed meanwhile; return the payload's id."""
        if await self._are_removed(tx, menu.written, menu.raw):
            menu = await self.crawler.run_in_thread(self._write_files, menu.menu, None)
        payload_id = await record_payload(
            tx,
            menu.written,
            store_id=self.store.id,
            task_id=self.ctx.task_id,
            fetched_at=self.begun.begun_at,
            product_count=menu.product_count,
            sequence=self.begun.sequence,
        )
        await record_raw_menu(tx, menu.raw, menu.fetch, payload_id=payload_id)
        return payload_id

    async def archive_refused(self, problem: Exception) -> None:
        """Store responses that did not result in a menu; of the store's earlier ones, keep the newest few.

        Responses rejected by their status alone, or missing ones, are described by the error.
        """
        if not self.answers or self.answers[-1].status >= CLIENT_ERRORS:
            return
        try:
            raw = await self.crawler.run_in_thread(self._write_raw, self.base)
        except PayloadError as trouble:
            self.ctx.log.warning("The refused responses cannot be stored: %s", trouble)
            return
        reason = f"{type(problem).__name__}: {problem}"[:LONGEST_PROBLEM]
        async with self.ctx.transaction() as tx:
            if await self._are_removed(tx, raw):
                raw = await self.crawler.run_in_thread(self._write_raw, None)
            await record_raw_menu(tx, raw, self._fetch(), problem=reason)
        async with self.ctx.transaction() as tx, removal(tx, self.crawler, self.store.id):
            await mark_raw_expired(tx, await refused_beyond(tx, self.store.id))

    async def _are_removed(self, tx: Connection, *files: WrittenPayload) -> bool:
        """Lock the store's files and return whether one of these is missing.

        A removal may have looked at the rows before these files were found and used for the fetch.
        """
        await lock_files(tx, self.store.id)
        paths = {path for each in files for path in (each.path, each.base_path) if path is not None}
        unprotected = paths - await needed_files(tx, [self.store.id])
        exists = self.crawler.payloads.exists
        return not await self.crawler.run_in_thread(lambda: all(exists(path) for path in unprotected))

    def _write_raw(self, base: str | None) -> WrittenPayload:
        document = write_raw_pages(self.answers)
        return self.crawler.payloads.write_raw(self.store.id, document, base=base, **self._origin)

    @property
    def _origin(self) -> dict[str, int]:
        return {"task_id": self.ctx.task_id, "attempt": self.ctx.attempt}

    def _fetch(self, digests: Sequence[str] = ()) -> Fetch:
        return Fetch(
            store_id=self.store.id,
            task_id=self.ctx.task_id,
            fetched_at=self.begun.begun_at,
            page_count=len(self.answers),
            digests=digests,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedAnswer:
    """A response whose file is written and whose row is not."""

    platform: str
    kind: AnswerKind
    subject: str
    records: int
    written: WrittenPayload

    async def record(self, connection: Connection, ctx: Context) -> int:
        return await record_answer(
            connection,
            self.written,
            platform=self.platform,
            kind=self.kind,
            subject=self.subject,
            task_id=ctx.task_id,
            record_count=self.records,
        )


async def archive_answer(  # sizes: the columns of a row, and its records
    ctx: Context, crawler: Crawler, platform: str, kind: AnswerKind, subject: str, records: Sequence[object]
) -> ArchivedAnswer:
    """Write a response to a file. If the task crashes before its row is written, the sweep removes the file."""
    document = await crawler.run_in_thread(
        msgspec.json.encode, {"platform": platform, "kind": kind, "subject": subject, "records": records}
    )
    written = await crawler.run_in_thread(
        crawler.payloads.write_answer, document, task_id=ctx.task_id, attempt=ctx.attempt
    )
    return ArchivedAnswer(platform=platform, kind=kind, subject=subject, records=len(records), written=written)
