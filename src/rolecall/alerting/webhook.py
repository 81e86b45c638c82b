"""Posts messages to webhooks, signed as Standard Webhooks define."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from hashlib import sha256

import httpx2
import msgspec
from standardwebhooks import Webhook

from rolecall.alerting.messages import Message
from rolecall.model.errors import PermanentFailure, Retry

TIMEOUT_SECONDS = 10.0
# Statuses that may change with time: timeout, too early, too many requests.
TEMPORARY = frozenset({408, 425, 429})
CLIENT_ERRORS = range(400, 500)
LONGEST_PAUSE = 3_600
LONGEST_BODY = 200
# It logs URLs, which may contain secrets.
logging.getLogger("httpx2").setLevel(logging.WARNING)


def receiver_id(url: str) -> str:
    """Return a name for a webhook, which tasks contain instead of its URL: the URL may contain a secret."""
    return sha256(url.encode()).hexdigest()[:12]


async def post(url: str, secret: str, message: Message) -> None:
    """Post a message. Raises PermanentFailure if the receiver rejects it, and Retry or an error if it may work later.

    A repeated message has the same id, so that receivers can ignore it. Redirects are not followed.
    """
    now = datetime.now(UTC)
    body = msgspec.json.encode({"type": f"problem.{message.change}", "timestamp": now, "data": message})
    headers = {
        "content-type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(message.id, now, body.decode()),
    }
    async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
        answer = await client.post(url, content=body, headers=headers)
    if answer.is_success:
        return
    problem = f"the receiver answered {answer.status_code}: {answer.text[:LONGEST_BODY]}"
    if answer.status_code in CLIENT_ERRORS and answer.status_code not in TEMPORARY:
        raise PermanentFailure(problem)
    pause = answer.headers.get("retry-after", "")
    if pause.isdecimal():
        raise Retry(problem, after=min(int(pause), LONGEST_PAUSE))
    raise ConnectionError(problem)
