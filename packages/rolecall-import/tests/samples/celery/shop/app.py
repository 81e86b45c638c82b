"""The app, with what runs by the clock."""

from __future__ import annotations

from datetime import timedelta

from celery import Celery
from celery.schedules import crontab

app = Celery("shop", broker="amqp://", backend="cache+memory://")
app.config_from_object("shop.settings", namespace="CELERY")
app.autodiscover_tasks(["shop"])
app.autodiscover_tasks(["shop"], related_name="reports")
app.conf.beat_schedule = {
    "nightly report": {
        "task": "shop.reports.nightly",
        "schedule": crontab(hour=3, minute=30, day_of_week="mon-fri"),
        "args": ("all",),
    },
    "heartbeat": {"task": "shop.tasks.beat", "schedule": timedelta(minutes=5)},
}


@app.on_after_configure.connect
def by_the_clock(sender, **kwargs):
    from shop.tasks import greet  # noqa: PLC0415 - it imports the app

    sender.add_periodic_task(3600.0, greet.s("everybody"), name="greet everybody")
