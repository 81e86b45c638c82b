"""`storecrawl payloads`: which crawl payloads there are, and what changed between two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from rich.console import Console
from rich.table import Table
from typer import Argument, Option, Typer, echo

from storecrawl.catalog import (
    FieldChange,
    MenuDiff,
    StoredPayload,
    diff_payloads,
    find_payload,
    list_payloads,
    payloads_to_compare,
    read_menu,
)
from storecrawl.reaching import Connection, DatabaseUrl, DataDir, Place

HERE = Path("storecrawl-data")
CHANGES = ("added", "removed", "price_changes", "stock_changes")

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]

payloads = Typer(help="The crawl payloads that are kept.", no_args_is_help=True)


@payloads.command("list")
def list_(
    *,
    store: Annotated[int | None, Option(min=1, help="Only this store's.")] = None,
    limit: Annotated[int, Option(min=1, max=1_000, help="At most so many, the newest fetch first.")] = 20,
    data_dir: DataDir = HERE,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List crawl payloads, the newest fetch first."""
    place = Place(data_dir=data_dir, database_url=database_url)
    found = place.ask(lambda connection: list_payloads(connection, store_id=store, limit=limit))
    _show([msgspec.to_builtins(each) for each in found], _table(found), as_json=as_json)


@payloads.command()
def show(
    payload: Annotated[int, Argument(min=1, help="Its id.")],
    *,
    data_dir: DataDir = HERE,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show what is known of one crawl payload, and where its file lies."""
    place = Place(data_dir=data_dir, database_url=database_url)
    found = msgspec.to_builtins(place.ask(lambda connection: find_payload(connection, payload)))
    table = Table(box=None, show_header=False)
    for name, value in found.items():
        table.add_row(name, "" if value is None else str(value))
    _show(found, table, as_json=as_json)


@payloads.command()
def diff(  # sizes: a command's flags
    store: Annotated[int, Argument(min=1, help="The store's id.")],
    *,
    earlier: Annotated[int | None, Option("--from", min=1, help="The earlier payload; else the one before.")] = None,
    later: Annotated[int | None, Option("--to", min=1, help="The later payload; else the latest.")] = None,
    data_dir: DataDir = HERE,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two crawl payloads of a store, by default the latest two."""
    place = Place(data_dir=data_dir, database_url=database_url)

    async def pair(connection: Connection) -> tuple[StoredPayload, StoredPayload]:
        return await payloads_to_compare(connection, store, earlier, later)

    before, after = place.ask(pair)
    changes = diff_payloads(*(read_menu(place.payloads, payload) for payload in (before, after)))
    answer = {"from": before.id, "to": after.id, **msgspec.to_builtins(changes)}
    _show(answer, _changes(before, after, changes), as_json=as_json)


def _show(value: Any, table: Table, *, as_json: bool) -> None:
    if as_json:
        echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
    else:
        Console().print(table)


def _table(found: list[StoredPayload]) -> Table:
    table = Table("id", "store", "fetched", "products", "bytes", "gzip", "applied", box=None, header_style="bold")
    for each in found:
        figures = (each.id, each.store_id, f"{each.fetched_at:%Y-%m-%d %H:%M:%S}", each.product_count)
        sizes = (f"{each.size_raw:,}", f"{each.size_gz:,}", "yes" if each.applied_at else "no")
        table.add_row(*map(str, (*figures, *sizes)))
    return table


def _changes(before: StoredPayload, after: StoredPayload, changes: MenuDiff) -> Table:
    table = Table(f"{before.id} to {after.id}", "product", "option", "field", "before", "after", box=None)
    for kind in CHANGES:
        for change in getattr(changes, kind):
            figures = (change.option, change.field, change.before, change.after)
            words = map(str, figures) if isinstance(change, FieldChange) else ()
            table.add_row(kind.replace("_", " "), change.name, *words)
    return table
