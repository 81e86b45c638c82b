"""`storecrawl stores`: list stores, and show one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from rolecall.cli import plain_typer, print_facts, print_json, print_table
from storecrawl.catalog import Store, StoreFilter, find_store, list_stores
from storecrawl.cli.connect import CrawlHome, DatabaseUrl, DataDir

LISTED = ("id", "platform", "name", "state", "last fetch", "dark since", "blocked since")

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]

stores = plain_typer("Stores, with their last fetch and their trouble.")


@stores.command("list")
def list_(  # sizes: a command's flags
    *,
    state: Annotated[str | None, Option(help="Only stores in this state.")] = None,
    text: Annotated[str | None, Option(help="Search name, slug, chain and city.")] = None,
    platform: Annotated[str | None, Option(help="Only stores on this platform.")] = None,
    blocked: Annotated[bool, Option("--blocked", help="Only stores whose menu the upstream refuses.")] = False,
    dark: Annotated[bool, Option("--dark", help="Only stores without a menu for some rounds.")] = False,
    after: Annotated[int, Option(min=0, help="The last id of the previous page.")] = 0,
    limit: Annotated[int, Option(min=1, max=1_000, help="The maximum number.")] = 50,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List stores by id."""
    criteria = StoreFilter(
        state=state, platform=platform, text=text, blocked=blocked, dark=dark, after=after, limit=limit
    )
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    found = home.query(lambda connection: list_stores(connection, criteria))
    if as_json:
        print_json(found)
    else:
        print_table(LISTED, map(_row, found), "no store matches")


@stores.command()
def show(
    store: Annotated[int, Argument(min=1, help="Its id.")],
    *,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a store."""
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    found = home.query(lambda connection: find_store(connection, store))
    if as_json:
        print_json(found)
    else:
        print_facts(asdict(found).items())


def _row(store: Store) -> tuple[object, ...]:
    return (store.id, store.platform, store.name, store.state, store.last_fetch_at, store.dark_since, store.blocked_at)
