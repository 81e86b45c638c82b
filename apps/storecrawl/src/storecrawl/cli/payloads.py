"""`storecrawl payloads`: list crawl payloads and compare two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import msgspec
from typer import Argument, Option

from rolecall.cli import plain_typer, print_facts, print_json, print_table
from storecrawl.catalog import (
    FieldChange,
    MenuDiff,
    ProductChange,
    StoredPayload,
    diff_payloads,
    find_payload,
    list_payloads,
    payloads_to_compare,
)
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.platforms.menus import read_menu

LISTED = ("id", "store", "fetched", "products", "bytes", "stored", "applied")
CHANGED = ("what", "product", "option", "field", "before", "after")
CHANGES = ("added", "removed", "price_changes", "stock_changes")

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]

payloads = plain_typer("Stored crawl payloads.")


@payloads.command("list")
def list_(
    *,
    store: Annotated[int | None, Option(min=1, help="Only payloads of this store.")] = None,
    limit: Annotated[int, Option(min=1, max=1_000, help="The maximum number, the newest fetch first.")] = 20,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List crawl payloads, the newest fetch first."""
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    found = home.query(lambda connection: list_payloads(connection, store_id=store, limit=limit))
    if as_json:
        print_json(found)
    else:
        print_table(LISTED, map(_row, found), "nothing was fetched yet")


@payloads.command()
def show(
    payload: Annotated[int, Argument(min=1, help="Its id.")],
    *,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a crawl payload's metadata and the location of its file."""
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    found = home.query(lambda connection: find_payload(connection, payload))
    if as_json:
        print_json(found)
    else:
        print_facts(asdict(found).items())


@payloads.command()
def diff(  # sizes: a command's flags
    store: Annotated[int, Argument(min=1, help="The store's id.")],
    *,
    earlier: Annotated[
        int | None, Option("--from", min=1, help="The earlier payload; by default the previous one.")
    ] = None,
    later: Annotated[int | None, Option("--to", min=1, help="The later payload; by default the latest.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the changes between two crawl payloads of a store, by default the latest two."""
    home = CrawlHome(data_dir=data_dir, database_url=database_url)

    async def pair(connection: Connection) -> tuple[StoredPayload, StoredPayload]:
        return await payloads_to_compare(connection, store, earlier, later)

    before, after = home.query(pair)
    changes = diff_payloads(*(read_menu(home.payloads, payload) for payload in (before, after)))
    if as_json:
        print_json({"from": before.id, "to": after.id, **msgspec.to_builtins(changes)})
    else:
        print_table(CHANGED, _change_rows(changes), f"nothing changed from payload {before.id} to {after.id}")


def _row(payload: StoredPayload) -> tuple[object, ...]:
    sizes = (f"{payload.size_raw:,}", f"{payload.size_gz:,}", payload.applied_at is not None)
    return (payload.id, payload.store_id, payload.fetched_at, payload.product_count, *sizes)


def _change_rows(changes: MenuDiff) -> Iterator[tuple[object, ...]]:
    for kind in CHANGES:
        for change in getattr(changes, kind):
            yield (kind.replace("_", " "), change.name, *_figures(change))


def _figures(change: ProductChange | FieldChange) -> tuple[object, ...]:
    if isinstance(change, FieldChange):
        return (change.option, change.field, change.before, change.after)
    return (None,) * 4
