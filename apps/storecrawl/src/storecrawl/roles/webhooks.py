"""webhooks: post published changes to their receivers, and turn findings of the checks into changes.

publish (a step of every round of statistics)
post_changes ...         one task per request, and one request of a receiver at a time
watch_quality (a schedule)   adds quality alarms to the feed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rolecall import App, Check, Context, Finding, NewTask, PermanentFailure, Severity
from storecrawl.catalog import (
    ChangesToSend,
    UnknownWebhook,
    add_alarms,
    changes_at,
    changes_to_send,
    find_webhook,
    last_alarms,
    publish_changes,
)
from storecrawl.statements import Connection
from storecrawl.webhooks import send_changes

ROLE: Final = "webhooks"
KEY: Final = "webhook:{webhook_id}"
FINE: Final = "ok"


def add_webhooks(app: App, checks: Sequence[Check]) -> None:
    """Register the handlers."""

    @app.task(role=ROLE, key=KEY)
    async def post_changes(ctx: Context, webhook_id: int, positions: list[int]) -> dict[str, int]:
        """Post the changes at some positions in one request, without those that retention has deleted.

        A repeated request has the same id.
        """
        try:
            async with ctx.transaction() as tx:
                webhook, changes = await find_webhook(tx, webhook_id), await changes_at(tx, positions)
        except UnknownWebhook as problem:
            raise PermanentFailure(f"webhook {webhook_id} was removed") from problem
        if changes:
            await send_changes(webhook, positions, changes)
        return {"changes": len(changes)}

    @app.task(role=ROLE)
    async def watch_quality(ctx: Context) -> None:
        """Run the crawler's checks, and add an alarm for each whose severity differs from the last one reported."""
        async with ctx.transaction() as tx:
            found = {check.__name__: list(await check(tx)) for check in checks}  # type: ignore[attr-defined]  # all are functions
            known = await last_alarms(tx)
            alarms = [
                {"old": {"severity": before}, "new": {"check": name, "severity": now, "problem": _problem(findings)}}
                for name, findings in found.items()
                if (now := _severity(findings)) != (before := known.get(name, FINE))
            ]
            await add_alarms(tx, alarms)
            await ctx.complete(tx, {"alarms": len(alarms)})


async def publish(ctx: Context, tx: Connection) -> None:
    """Publish committed changes, and enqueue their requests together with the completion of the task."""
    while True:
        published = await publish_changes(tx)
        if published.after == published.last:
            return
        ctx.follow_up(*(task for found in await changes_to_send(tx, published) for task in _tasks(found)))


def _tasks(found: ChangesToSend) -> list[NewTask]:
    return [
        NewTask(handler="post_changes", payload={"webhook_id": found.webhook_id, "positions": batch})
        for batch in found.batches()
    ]


def _severity(findings: Sequence[Finding]) -> str:
    if not findings:
        return FINE
    is_trouble = any(finding.severity is Severity.TROUBLE for finding in findings)
    return (Severity.TROUBLE if is_trouble else Severity.WARNING).value


def _problem(findings: Sequence[Finding]) -> str:
    return "; ".join(finding.problem for finding in findings)
