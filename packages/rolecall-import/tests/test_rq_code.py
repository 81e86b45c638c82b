"""Import of an RQ code base."""

from __future__ import annotations

import pytest
from rolecall_import import Inventory

from .code_bases import asked_of, declared, inventory_of

NAMES = """
import json
import mailer.web as web
from rq.job import Job
functions = [web.send, web.count_words, web.digest, web.clean]
print(json.dumps(sorted(Job.create(each, args=(1,), connection=web.connection).func_name for each in functions)))
"""
INSTEAD = {
    "queue.enqueue(send, address, subject='Welcome', retry=Retry(max=3, interval=10), job_timeout='2m')": "send.using(max_attempts=4, retry=linear(step=10, cap=10), timeout=120).enqueue(address, subject='Welcome')",
    "queue.enqueue('mailer.jobs.count_words', 'http://example.org', ttl=60, depends_on=first)": "count_words.using(expires=60, needs=[first]).enqueue('http://example.org')",
    "queue.enqueue_in(timedelta(minutes=10), send, address, subject='Still there?')": "send.using(after=timedelta(minutes=10)).enqueue(address, subject='Still there?')",
    "queue.enqueue_at(datetime(2030, 1, 1, 12), count_words, url='http://example.org')": "count_words.using(scheduled_for=datetime(2030, 1, 1, 12)).enqueue(url='http://example.org')",
    "urgent.enqueue(send, args=(address,), kwargs={'urgent': True}, on_success=print, job_id='mail-7')": 'send.using(role="urgent").enqueue(address, urgent=True)',
    "clean.delay('/var/tmp')": "clean.enqueue('/var/tmp')",
    "Job.fetch(first.id, connection=connection)": "client.get(task) reads state, result and error; client.cancel(id) cancels",
}


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of("rq")


def test_task_names_match_those_of_rq(inventory: Inventory) -> None:
    assert sorted(task.name for task in inventory.tasks) == asked_of("rq", NAMES)


def test_queues_timeouts_and_retries_become_handler_settings(inventory: Inventory) -> None:
    handlers = declared(inventory).handlers
    said = {
        name.rpartition(".")[2]: (each.role, each.settings.max_attempts, each.settings.timeout)
        for name, each in handlers.items()
    }

    assert said == {
        "send": ("mail", 1, 60),
        "count_words": ("mail", 1, 60),
        "digest": ("mail", 1, 180),
        "clean": ("low", 4, 600),
    }


def test_function_that_uses_its_job_receives_the_context(inventory: Inventory) -> None:
    assert declared(inventory).handlers["mailer.jobs.count_words"].takes_context


def test_cron_scheduler_jobs_become_schedules(inventory: Inventory) -> None:
    [schedule] = declared(inventory).schedules.values()

    assert (schedule.handler, schedule.every, schedule.payload) == ("mailer.jobs.clean", 3600, {"folder": "/srv/mail"})


@pytest.mark.parametrize("code", INSTEAD)
def test_each_enqueue_is_reported_with_its_replacement(inventory: Inventory, code: str) -> None:
    assert {call.code: call.instead for call in inventory.calls}[code] == INSTEAD[code]


def test_feature_without_an_equivalent_is_reported_with_the_reason(inventory: Inventory) -> None:
    gaps = {gap.code: gap.reason for gap in inventory.gaps}

    assert set(gaps) == {
        "cron.register(digest, queue_name='mail', cron='0 6 * * *', args=('today',))",
        "send: on_success=print",
        "send: job_id='mail-7'",
        "Retry(max=2, interval=[10, 60])",
        "send: repeat=Repeat(times=3, interval=30)",
        "queue.enqueue(print, 'nobody knows it')",
        "return get_current_job().id",
    }
    assert (
        gaps["cron.register(digest, queue_name='mail', cron='0 6 * * *', args=('today',))"]
        == 'it passes "today" for day, which must be a date'
    )
