"""Options that only Celery has."""

from __future__ import annotations

from shop.app import app
from shop.models import Order  # noqa: F401


@app.task(rate_limit="10/m", soft_time_limit=30, time_limit=60, acks_late=True)
def polite(order: "Order", page: int = 1):
    return page


@app.task(
    bind=True,
    autoretry_for=(OSError,),
    retry_backoff=5,
    retry_backoff_max=120,
    retry_jitter=False,
    max_retries=8,
    queue="feeds",
)
def patient(self, url: str):
    return url
