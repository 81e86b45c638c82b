"""The app that reports problems. Each message to a receiver is a task, so it is retried and can be looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rolecall.alerting.messages import Message, messages, sample_message
from rolecall.app import App
from rolecall.config import AlertingSettings, read_alerting
from rolecall.db.run import run_async
from rolecall.extras import require
from rolecall.model.errors import PermanentFailure
from rolecall.model.retry import exponential
from rolecall.model.tasks import NewTask
from rolecall.sql import alerting
from rolecall.worker.context import Context

require("alerts")

from rolecall import webhooks  # noqa: E402 - after the check of the extra
from rolecall.alerting import mail  # noqa: E402

ROLE = "alerts"
CHECK_SECONDS = 30
# A problem that returns within this time is not announced again.
OVER_SECONDS = 300.0
# The last of 12 attempts is about three hours after the first.
ATTEMPTS = 12


@asynccontextmanager
async def check_settings(_workplace: object) -> AsyncIterator[None]:
    """Let a worker with invalid settings fail when it starts."""
    read_alerting()
    yield


app = App("alerts", lifespan=check_settings)
app.role(ROLE, max_attempts=ATTEMPTS, timeout=60, retry=exponential(first=5, cap=1_800))


@app.task("alerts.check", role=ROLE, max_attempts=1)
async def check(ctx: Context) -> None:
    """Enqueue messages for the changes since the last check. The next check repeats a failed one."""
    settings = read_alerting()
    async with ctx.transaction() as tx:
        changes = await run_async(tx, alerting.announce_problems(settings.after_seconds, OVER_SECONDS))
        for message in messages(changes, settings.dashboard):
            ctx.follow_up(*_deliveries(message, settings))
        await ctx.complete(tx, {"changes": len(changes)})


@app.task("alerts.test", role=ROLE, max_attempts=1)
async def send_test(ctx: Context) -> None:
    """Send a test message to each receiver. Fails if there is none."""
    settings = read_alerting()
    deliveries = _deliveries(sample_message(), settings)
    if not deliveries:
        raise PermanentFailure("there are no receivers: set ROLECALL_ALERT_WEBHOOKS or ROLECALL_ALERT_MAIL_TO")
    ctx.follow_up(*deliveries)


@app.task("alerts.webhook", role=ROLE)
async def post_webhook(receiver: str, message: Message) -> None:
    """Post a message to the webhook with this id."""
    settings = read_alerting()
    url = next((each for each in settings.webhooks if webhooks.receiver_id(each) == receiver), None)
    if url is None or settings.webhook_secret is None:
        raise PermanentFailure("the webhook was removed from ROLECALL_ALERT_WEBHOOKS")
    await webhooks.post(url, settings.webhook_secret, id=message.id, type=f"problem.{message.change}", data=message)


@app.task("alerts.mail", role=ROLE)
async def send_mail(message: Message) -> None:
    """Mail a message to all addresses."""
    settings = read_alerting()
    if not settings.mail_to or settings.mail_server is None:
        raise PermanentFailure("the receivers were removed from ROLECALL_ALERT_MAIL_TO")
    sender = settings.mail_from or settings.mail_to[0]
    written = mail.mail_of(message, sender, settings.mail_to)
    await mail.send(written, settings.mail_server)


app.schedule("alerts", check, every=CHECK_SECONDS)


def _deliveries(message: Message, settings: AlertingSettings) -> list[NewTask]:
    posts = [post_webhook.task(receiver=webhooks.receiver_id(url), message=message) for url in settings.webhooks]
    return posts + ([send_mail.task(message=message)] if settings.mail_to else [])
