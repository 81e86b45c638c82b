"""`storecrawl renormalize`: correct products and history from the stored payloads, by tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from psycopg.rows import dict_row
from typer import Exit, Option, echo

from rolecall import AsyncClient, ConfigError, NewTask
from rolecall.cli import print_json
from storecrawl.app import build_app
from storecrawl.catalog import Comparison
from storecrawl.cli.comparisons import print_comparison
from storecrawl.cli.connect import Connection, CrawlHome, DatabaseUrl, DataDir
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.roles.renormalize import ROLE, renormalize_task
from storecrawl.settings import CrawlSettings

SIDES = ("before", "after")
POLL_SECONDS = 0.5
PROGRESS = """
select
    root.state::text, root.finished_at is not null as is_finished, root.result, root.error,
    (select count(*) from rolecall.all_tasks where parent_id = root.id) as stores,
    (select count(*) from rolecall.all_tasks where parent_id = root.id and finished_at is not null) as done,
    exists (
        select
        from rolecall.workers
        where stopped_at is null
            and not is_dead
            and 'renormalize' = any(handlers)
            and (roles = '{}' or %(role)s = any(roles))
    ) as is_served
from rolecall.all_tasks as root
where root.id = %(task_id)s
"""


def renormalize(  # sizes: a command's flags
    *,
    since: Annotated[
        str | None, Option(metavar="TIME", help="Only payloads fetched since this day or moment, in UTC.")
    ] = None,
    store: Annotated[int | None, Option(min=1, help="Only this store.")] = None,
    platform: Annotated[str | None, Option(metavar="NAME", help="Only stores on this platform.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only report the differences; write nothing.")] = False,
    wait: Annotated[bool, Option("--wait/--no-wait", help="Wait for the tasks and report the differences.")] = True,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Correct products and history from the stored payloads, by a task for each store; exit 1 if one fails.

    Workers of the role product_refresh run the tasks.
    """
    if platform is not None and platform not in PLATFORMS:
        raise ConfigError(f"{platform!r} is not one of {', '.join(PLATFORMS)}", variable="--platform", value=platform)
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    task = renormalize_task(since=_moment(since), store_id=store, platform=platform, dry_run=dry_run)
    root = home.query(lambda connection: _run(connection, task, wait=wait))
    if not root["is_finished"]:
        echo(f"task {root['id']} is enqueued; its result will have the differences")
    elif root["result"] is None:
        echo(f"task {root['id']} is {root['state']}: {root['error']}", err=True)
        raise Exit(1)
    else:
        _report(root["result"], dry_run=dry_run, as_json=as_json)
        raise Exit(int(root["result"]["failed_stores"] > 0))


async def _run(connection: Connection, task: NewTask, *, wait: bool) -> Mapping[str, Any]:
    async with AsyncClient(app=build_app(CrawlSettings.from_environment())) as client:
        task_id = (await client.enqueue(task, connection=connection)).id
    told = None
    while True:
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(PROGRESS, {"task_id": task_id, "role": ROLE})
            root = await cursor.fetchone() or {}
        if root["is_finished"] or not wait:
            return {"id": task_id, **root}
        if not root["is_served"]:
            echo(f"no worker of the role {ROLE} is running: start one, for example with `rolecall up`", err=True)
            return {"id": task_id, **root}
        if (counts := (root["done"], root["stores"])) != told:
            echo(f"task {task_id}: {root['done']:,} of {root['stores']:,} stores are done", err=True)
            told = counts
        await asyncio.sleep(POLL_SECONDS)


def _report(result: Mapping[str, Any], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    found = msgspec.convert(result, Comparison)
    read = f"{found.payloads:,} payloads of {found.stores:,} stores"
    print_comparison(found, SIDES, f"{read}: nothing differs")
    if found.differences.count:
        echo(f"{read} were read again" + ("; nothing was written" if dry_run else ""))
    if result["failed_stores"]:
        echo(f"the tasks of {result['failed_stores']:,} stores failed", err=True)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        example = f"{datetime.now(UTC):%Y-%m-%d}"
        raise ConfigError(f"{text!r} is not a time such as {example} or {example}T06:30", variable="--since") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
