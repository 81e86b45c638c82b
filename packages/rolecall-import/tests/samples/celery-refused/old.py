"""A code base that uses features of Celery without an equivalent."""

from __future__ import annotations

import json
import logging

from celery import Celery, Task, shared_task
from celery.exceptions import Reject, SoftTimeLimitExceeded
from celery.schedules import crontab
from celery.signals import task_failure, task_prerun, worker_process_init
from celery.utils.log import get_task_logger

log = get_task_logger(__name__)
app = Celery("shop", broker="redis://", strict_typing=True)
app.conf.task_acks_late = True
app.conf.task_reject_on_worker_lost = True
app.conf.worker_max_tasks_per_child = 1000
app.conf.task_annotations = {"old.send_mail": {"rate_limit": "10/s"}}
app.conf.task_serializer = "pickle"
app.conf.update(task_always_eager=True, broker_pool_limit=3)
app.autodiscover_tasks(["billing"])
app.conf.beat_schedule = {
    "first monday": {"task": "old.plain", "schedule": crontab(day_of_month="1-7", day_of_week="mon")},
    "often": {"task": "old.plain", "schedule": 60, "options": {"expires": 30}},
}


class Mailing(Task):
    autoretry_for = (ConnectionError,)
    max_retries = 5
    retry_backoff = True
    connections = {}

    def on_failure(self, exc, task_id, args, kwargs, einfo):
        log.error("%s failed: %s", task_id, exc)

    def connection(self, host):
        return self.connections.setdefault(host, object())


class Patient(Mailing):
    max_retries = 7


@app.task(base=Mailing)
def send_mail(to): ...


@app.task(base=Patient, acks_late=False)
def send_letter(to): ...


@app.task
def plain(): ...


@app.task(rate_limit="10/m", colour="red")
def failed(request, exc, traceback): ...


@shared_task(bind=True)
def careful(self, order):
    try:
        return self.replace(plain.s())
    except SoftTimeLimitExceeded:
        self.retry(args=(order,))
    except KeyError as error:
        raise Reject(error) from error


@shared_task
async def later(canvas): ...


@task_failure.connect
def tell_sentry(sender=None, exception=None, **kwargs):
    logging.error(json.dumps({"error": str(exception)}))


@worker_process_init.connect
def open_pool(**kwargs): ...


def sign_up(to):
    send_mail.s(to).apply_async(link_error=failed.s())
    plain.apply_async(task_id="7", colour="red")
    result = plain.delay_on_commit()
    result.forget()
    plain.map([1, 2])
    app.worker_main(["worker"])


if __name__ == "__main__":
    task_prerun.connect(open_pool)
