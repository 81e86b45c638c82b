"""Posts to webhooks, signed as Standard Webhooks define, for tasks that report to other systems.

    await post(url, secret, id="order-7", type="order.paid", data=order)

A call is one attempt. Its errors tell the task's retries what to do: `PermanentFailure` if the receiver rejects the
message, `Retry` if it names a pause, otherwise an ordinary error.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_bytes

from rolecall.extras import require
from rolecall.model.errors import PermanentFailure, Retry

require("alerts")

import httpx2  # noqa: E402 - after the check of the extra
import msgspec  # noqa: E402
from standardwebhooks import Webhook  # noqa: E402

TIMEOUT_SECONDS = 10.0
# Statuses that may change with time: timeout, too early, too many requests.
TEMPORARY = frozenset({408, 425, 429})
CLIENT_ERRORS = range(400, 500)
LONGEST_PAUSE = 3_600
LONGEST_BODY = 200
SECRET_BYTES = 32
# It logs URLs, which may contain secrets.
logging.getLogger("httpx2").setLevel(logging.WARNING)

__all__ = ["new_secret", "post", "receiver_id"]


def receiver_id(url: str) -> str:
    """Return a name for a webhook, which tasks contain instead of its URL: the URL may contain a secret."""
    return sha256(url.encode()).hexdigest()[:12]


def new_secret() -> str:
    """Return a random secret that signs messages, in the form of Standard Webhooks."""
    return f"whsec_{b64encode(token_bytes(SECRET_BYTES)).decode()}"


async def post(url: str, secret: str, *, id: str, type: str, data: object) -> None:  # noqa: A002 - names of the standard
    """Post a message. `data` is anything that msgspec can encode.

    A repeated message has the same id, so that receivers can ignore it. Redirects are not followed. Raises
    PermanentFailure if the receiver rejects the message, and Retry or an error if it may accept it later.
    """
    now = datetime.now(UTC)
    body = msgspec.json.encode({"type": type, "timestamp": now, "data": data})
    headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, now, body.decode()),
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
