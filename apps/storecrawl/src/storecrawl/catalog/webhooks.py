"""Webhooks: the receivers of published changes, with their filters. Nothing here commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.changes import Positions
from storecrawl.catalog.errors import UnknownWebhook, WebhookExists
from storecrawl.catalog.sql import WEBHOOKS
from storecrawl.statements import Connection, execute, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A receiver of changes. None in a filter matches everything; a request has at most `at_once` changes.

    `kinds` are values of ChangeKind.

    A filter by brands matches no change of a store, and one by stores no quality alarm.
    """

    url: str
    secret: str = field(repr=False)
    kinds: Sequence[str] | None = None
    store_ids: Sequence[int] | None = None
    brands: Sequence[str] | None = None
    at_once: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook(NewWebhook):
    """A stored webhook; its brands are slugs."""

    id: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesToSend:
    """The positions of the changes that one webhook gets, of which a request has at most `at_once`."""

    webhook_id: int
    at_once: int
    positions: list[int]

    def batches(self) -> list[list[int]]:
        """Return the positions of each request."""
        starts = range(0, len(self.positions), self.at_once)
        return [self.positions[start : start + self.at_once] for start in starts]


async def list_webhooks(connection: Connection) -> list[Webhook]:
    """Return all webhooks by id."""
    return await fetch(connection, WEBHOOKS.webhooks, {"webhook_id": None}, class_row(Webhook))


async def find_webhook(connection: Connection, webhook_id: int) -> Webhook:
    """Return a webhook. Raises UnknownWebhook."""
    rows = await fetch(connection, WEBHOOKS.webhooks, {"webhook_id": webhook_id}, class_row(Webhook))
    if not rows:
        raise UnknownWebhook(webhook_id)
    return rows[0]


async def add_webhook(connection: Connection, webhook: NewWebhook) -> int:
    """Add a webhook; return its id. Raises WebhookExists for a known URL."""
    parameters = {
        "url": webhook.url,
        "secret": webhook.secret,
        "kinds": None if webhook.kinds is None else list(map(str, webhook.kinds)),
        "store_ids": None if webhook.store_ids is None else list(webhook.store_ids),
        "brands": None if webhook.brands is None else list(webhook.brands),
        "at_once": webhook.at_once,
    }
    for webhook_id in await fetch(connection, WEBHOOKS.add_webhook, parameters, scalar_row):
        return int(webhook_id)
    raise WebhookExists


async def remove_webhook(connection: Connection, webhook_id: int) -> None:
    """Delete a webhook; its tasks that are not done fail. Raises UnknownWebhook."""
    if not await execute(connection, WEBHOOKS.remove_webhook, {"webhook_id": webhook_id}):
        raise UnknownWebhook(webhook_id)


async def changes_to_send(connection: Connection, published: Positions) -> list[ChangesToSend]:
    """Return the changes of some positions that each webhook gets, of those with any."""
    parameters = {"after": published.after, "last": published.last}
    return await fetch(connection, WEBHOOKS.changes_to_send, parameters, class_row(ChangesToSend))
