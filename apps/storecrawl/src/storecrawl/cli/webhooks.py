"""`storecrawl webhooks`: manage the receivers of changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import httpx2
from typer import Argument, Exit, Option

from rolecall import ConfigError, PermanentFailure, Retry
from rolecall.audit import change_async, terminal_actor
from rolecall.cli import plain_typer, print_json, print_line, print_table, run_unwinding
from rolecall.webhooks import new_secret
from storecrawl.catalog import (
    ChangeKind,
    NewWebhook,
    Webhook,
    add_webhook,
    find_webhook,
    list_webhooks,
    remove_webhook,
)
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.webhooks import send_test

COLUMNS = ("id", "receiver", "kinds", "stores", "brands", "at once", "added")
EVERYTHING = "all"

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
WebhookId = Annotated[int, Argument(min=1, metavar="ID", help="The id in `storecrawl webhooks list`.")]

webhooks = plain_typer("Webhooks: the receivers of changes of prices, products and stores.")


@webhooks.command("list")
def list_(*, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List all webhooks, without the secret parts of their URLs."""
    found = _home(data_dir, database_url).query(list_webhooks)
    if as_json:
        print_json([_shown(webhook) for webhook in found])
    else:
        nothing = "There is no webhook. Add one: storecrawl webhooks add URL"
        print_table(COLUMNS, map(_row, found), nothing)


@webhooks.command()
def add(  # sizes: a command's flags
    url: Annotated[str, Argument(help="The http or https URL; - reads it from standard input.")],
    *,
    kinds: Annotated[list[ChangeKind] | None, Option("--kind", help="Only changes of this kind; repeatable.")] = None,
    stores: Annotated[list[int] | None, Option("--store", min=1, help="Only this store; repeatable.")] = None,
    brands: Annotated[list[str] | None, Option("--brand", help="Only this brand, by name; repeatable.")] = None,
    at_once: Annotated[int, Option(min=1, max=1_000, help="The most changes of one request.")] = 100,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Add a webhook, and print the new secret that signs its requests. It gets the changes from now on."""
    webhook = NewWebhook(
        url=_checked(sys.stdin.readline().strip() if url == "-" else url),
        secret=new_secret(),
        kinds=kinds or None,
        store_ids=stores or None,
        brands=brands or None,
        at_once=at_once,
    )

    async def store(connection: Connection) -> int:
        async with change_async(connection, terminal_actor(), "webhooks.add") as outcome:
            outcome["id"] = added = await add_webhook(connection, webhook)
        return added

    webhook_id = _home(data_dir, database_url).query(store)
    if as_json:
        print_json({"id": webhook_id, "secret": webhook.secret})
    else:
        print_line(f"webhook {webhook_id} is added; its requests are signed with the secret {webhook.secret}")


@webhooks.command()
def remove(webhook: WebhookId, *, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Delete a webhook. Its requests that are not sent yet fail."""

    async def delete(connection: Connection) -> None:
        async with change_async(connection, terminal_actor(), "webhooks.remove", webhook_id=webhook):
            await remove_webhook(connection, webhook)

    _home(data_dir, database_url).query(delete)
    print_line(f"webhook {webhook} is removed")


@webhooks.command("test")
def try_out(webhook: WebhookId, *, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Send one signed request without changes; exit 1 if it is rejected or fails."""
    found = _home(data_dir, database_url).query(lambda connection: find_webhook(connection, webhook))
    problem = run_unwinding(_problem_of(found))
    print_line(f"webhook {webhook}: {problem or 'the request was accepted'}")
    raise Exit(1 if problem else 0)


async def _problem_of(webhook: Webhook) -> str | None:
    try:
        await send_test(webhook)
    except (PermanentFailure, Retry, OSError, httpx2.HTTPError) as problem:
        return str(problem) or type(problem).__name__
    return None


def _home(data_dir: Path | None, database_url: str | None) -> CrawlHome:
    return CrawlHome(data_dir=data_dir, database_url=database_url)


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError("not an http or https URL", variable="URL")
    return url


def _shown(webhook: Webhook) -> dict[str, object]:
    return {
        "id": webhook.id,
        "receiver": urlsplit(webhook.url).netloc.rpartition("@")[2],
        "kinds": webhook.kinds,
        "store_ids": webhook.store_ids,
        "brands": webhook.brands,
        "at_once": webhook.at_once,
        "created_at": webhook.created_at,
    }


def _row(webhook: Webhook) -> tuple[object, ...]:
    return tuple(map(_text, _shown(webhook).values()))


def _text(value: object) -> object:
    if value is None:
        return EVERYTHING
    return ", ".join(map(str, value)) if isinstance(value, list) else value
