"""Crawl payloads: the list, one payload with the beginning of its document, and replays."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fastapi import Response

from rolecall.web import (
    Connects,
    Operating,
    Pages,
    PathId,
    Reading,
    RequestRefused,
    page_by_id,
    position,
)
from storecrawl.catalog import StoredPayload, list_payloads, store_names
from storecrawl.pages.menus import HasMenus
from storecrawl.pages.plots import size_plot
from storecrawl.pages.query import ChosenId, Cursor, address_builder
from storecrawl.payloads import OpenedPayload
from storecrawl.roles.payload_fetch import replay_task
from storecrawl.serving.lookup import payload_of, store_of
from storecrawl.serving.resources import Resources

router = Pages()
PAYLOADS = 50
PLOTTED = 200
SHOWN_BYTES = 50_000
# A string is one token, even if it was cut; white space between tokens is dropped.
PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
STEP: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The beginning of a document, or the problem with its file."""

    text: str = ""
    is_whole: bool = True
    problem: str | None = None


@router.get("/payloads")
async def list_all(view: Reading, connects: Connects, store: ChosenId = None, cursor: Cursor = None) -> Response:
    """Show crawl payloads, the newest fetch first; those of one store with their sizes over time."""
    before = position(cursor)
    chosen = await store_of(connects, store) if store else None
    async with connects() as connection:
        found = await list_payloads(connection, store_id=store, before=before, limit=PAYLOADS + 1)
        page = page_by_id(found, PAYLOADS)
        plotted = await list_payloads(connection, store_id=store, limit=PLOTTED) if store else []
        names = await store_names(connection, [payload.store_id for payload in page.items])
    return view.page(
        "storecrawl/payloads/list.html",
        store=chosen,
        payloads=page.items,
        names=names,
        sizes=size_plot(plotted),
        next_cursor=page.next_cursor,
        cursor=cursor,
        again=address_builder(view),
    )


@router.get("/payloads/{payload_id:int}")
async def show(payload_id: PathId, view: Reading, connects: Connects, menus: HasMenus) -> Response:
    """Show a crawl payload's metadata and the beginning of its document."""
    payload = await payload_of(connects, payload_id)
    store = await store_of(connects, payload.store_id)
    async with connects() as connection:
        earlier = await list_payloads(connection, store_id=store.id, before=payload.id, limit=1)
    return view.page(
        "storecrawl/payloads/show.html",
        payload=payload,
        store=store,
        earlier=earlier[0] if earlier else None,
        preview=await _preview(payload, menus.resources),
        shown=SHOWN_BYTES,
    )


@router.post("/payloads/{payload_id:int}/replay")
async def replay(payload_id: PathId, view: Operating, connects: Connects) -> Response:
    """Enqueue the task that applies this payload again; it does not undo changes of newer ones."""
    payload = await payload_of(connects, payload_id)
    meaning = "It does not undo changes of newer ones."
    await view.confirm(f"Apply payload {payload.id} again?", "Apply again", meaning)
    stored = await view.services.tasks.enqueue(replay_task(payload.store_id, payload.id))
    return view.done(
        f"Task {stored.id} {'was already enqueued to apply' if stored.deduplicated else 'applies'} this payload again."
    )


async def _preview(payload: StoredPayload, resources: Resources) -> Preview:
    try:
        opened = await resources.open(payload)
    except RequestRefused as refused:
        return Preview(problem=refused.detail)
    with opened:
        beginning = await asyncio.to_thread(_first_bytes, opened)
    return Preview(text=indent_json(beginning), is_whole=payload.size_raw <= SHOWN_BYTES)


def _first_bytes(opened: OpenedPayload) -> str:
    beginning = b""
    for piece in opened.document():
        beginning += piece
        if len(beginning) >= SHOWN_BYTES:
            break
    return beginning[:SHOWN_BYTES].decode(errors="replace")


def indent_json(text: str) -> str:
    """Return indented JSON; anything else is indented as far as possible."""
    return "".join(_pieces(text)).strip("\n")


def _pieces(text: str) -> Iterator[str]:
    depth, before = 0, ""
    for piece in PIECES.findall(text):
        if piece in "}]":
            depth = max(depth - 1, 0)
        if _needs_line(before, piece):
            yield "\n" + STEP * depth
        yield ": " if piece == ":" else piece
        depth += piece in "{["
        before = piece


def _needs_line(before: str, piece: str) -> bool:
    if piece in "}]":
        return before not in "{[" or not before
    return before in {"{", "[", ","}
