"""Tasks as people write them."""

from __future__ import annotations

from celery import chain, chord, group, shared_task
from celery.exceptions import Ignore
from celery.utils.log import get_task_logger
from shop.app import app

log = get_task_logger(__name__)
UNSTEADY = {"calls": 0}


@app.task
def add(x, y):
    return x + y


@shared_task
def tsum(numbers):
    return sum(numbers)


@shared_task(name="mul", ignore_result=False)
def multiply(x, y=10):
    return x * y


@app.task(queue="mail", priority=7)
def greet(name, *others, greeting="Hello", **rest):
    names = ", ".join((name, *others))
    return f"{greeting}, {names}!{len(rest) or ''}"


@app.task(bind=True, max_retries=2, default_retry_delay=0)
def fetch(self, url, fail=1):
    if self.request.retries < fail:
        try:
            raise ConnectionError(f"{url} does not answer")
        except ConnectionError as error:
            raise self.retry(exc=error)
    return [url, self.request.retries]


@app.task(autoretry_for=(ConnectionError,), retry_kwargs={"max_retries": 1, "countdown": 0})
def unsteady():
    UNSTEADY["calls"] += 1
    raise ConnectionError(f"call {UNSTEADY['calls']}")


@app.task
def broken():
    raise ValueError("over a stone")


@app.task(ignore_result=True)
def beat():
    return "never kept"


@app.task
def give_up():
    raise Ignore


@app.task(bind=True)
def progress(self):
    self.update_state(state="PROGRESS", meta={"done": 50})
    return self.request.id


def order_flow(order):
    return chain(add.s(order, 1), multiply.s(2), add.s(100))


def totals(numbers):
    return chord((add.s(number, number) for number in numbers), tsum.s())


def mixed():
    return add.s(1, 1) | group(add.s(10), multiply.s(3), add.s(1) | multiply.s(5)) | tsum.s() | add.si(4, 4)
