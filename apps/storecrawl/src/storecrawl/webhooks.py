"""Requests to webhooks: the published changes, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from rolecall.webhooks import post
from storecrawl.catalog import Change, Webhook

CHANGES: Final = "catalog.changes"
TEST: Final = "catalog.test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The data of a request: changes in the order of their positions; none in a test."""

    changes: Sequence[Change]


async def send_changes(webhook: Webhook, positions: Sequence[int], changes: Sequence[Change]) -> None:
    """Post changes, with an id that depends on the webhook and the positions. Raises like `rolecall.webhooks.post`."""
    message = f"{webhook.id}-{positions[0]}-{positions[-1]}"
    await post(webhook.url, webhook.secret, id=message, type=CHANGES, data=Batch(changes=changes))


async def send_test(webhook: Webhook) -> None:
    """Post a message without changes. Raises like `rolecall.webhooks.post`."""
    await post(webhook.url, webhook.secret, id=f"test-{uuid4()}", type=TEST, data=Batch(changes=()))
