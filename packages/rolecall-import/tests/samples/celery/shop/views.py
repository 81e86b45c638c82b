"""Where the shop enqueues."""

from __future__ import annotations

from datetime import datetime, timedelta

import shop.tasks
from celery import group
from celery.result import AsyncResult

from .app import app as celery_app
from .tasks import add, broken
from .tasks import greet as say_hello


def signed_up(name, session):
    say_hello.delay(name, greeting="Welcome")
    say_hello.apply_async(args=(name,), kwargs={"greeting": "Hello again"}, countdown=60 * 60, queue="slow")
    shop.tasks.fetch.apply_async((f"http://{name}",), eta=datetime.now() + timedelta(days=1), expires=3600)


def ordered(numbers):
    celery_app.send_task("mul", args=(2,), kwargs={"y": 3})
    celery_app.send_task("elsewhere.bill", kwargs={"order": 7}, queue="bills")
    result = group(add.s(n, n) for n in numbers).delay()
    (add.s(1, 2) | shop.tasks.multiply.si(4)).apply_async()
    broken.apply_async(link_error=say_hello.s("nobody"), task_id="order-7")
    celery_app.control.revoke(result.id, terminate=True)
    return AsyncResult(result.id)
