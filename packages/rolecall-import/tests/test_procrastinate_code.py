"""Import of a Procrastinate code base."""

from __future__ import annotations

import pytest
from rolecall_import import Inventory

from .code_bases import asked_of, declared, inventory_of

NAMES = """
import json
from library.app import app
import library.loans
print(json.dumps(sorted(name for name in app.tasks if not name.startswith(("builtin:", "procrastinate.")))))
"""
ONCE = 'dedupe=Dedupe(mode="error", scope="pending")'
INSTEAD = {
    "remind.configure(schedule_in={'weeks': 3}, queueing_lock=f'remind:{book}').defer(reader=reader, book=str(book))": f"remind.using(after=1814400, dedupe_key=f'remind:{{book}}', {ONCE}).enqueue(reader=reader, book=str(book))",
    "lend.configure(lock=f'book:{book}').defer_async(book=book, reader=reader)": "await lend.using(key=f'book:{book}').aenqueue(book=book, reader=reader)",
    "rebuild_catalogue.defer_async()": "await rebuild_catalogue.aenqueue()",
    "app.configure_task('returns:remind', schedule_at=datetime(2030, 1, 1, tzinfo=timezone.utc)).defer_async(reader=reader)": "await remind.using(scheduled_for=datetime(2030, 1, 1, tzinfo=timezone.utc)).aenqueue(reader=reader)",
    "remind.batch_defer({'reader': 1}, {'reader': 2})": "client.enqueue_many([remind.task(**{'reader': 1}), remind.task(**{'reader': 2})])",
}


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of("procrastinate")


def test_found_tasks_match_those_that_procrastinate_registers(inventory: Inventory) -> None:
    names = asked_of("procrastinate", NAMES)

    assert sorted(task.name for task in inventory.tasks) == sorted(name.replace(":", "-") for name in names)


def test_queues_retries_and_locks_become_roles_attempts_and_keys(inventory: Inventory) -> None:
    handlers = {name.rpartition(".")[2]: each for name, each in declared(inventory).handlers.items()}

    remind, rebuild, lend = handlers["returns-remind"], handlers["rebuild_catalogue"], handlers["lend"]
    assert (remind.role, remind.settings.max_attempts) == ("mail", 6)
    assert remind.settings.retry is not None
    assert (remind.settings.retry.first, remind.settings.retry.factor) == (3, 3)
    assert (rebuild.settings.key, rebuild.settings.dedupe_key, rebuild.settings.max_attempts) == (
        "catalogue",
        "rebuild",
        4,
    )
    assert rebuild.is_async
    assert (lend.takes_context, list(lend.signature.fields)) == (True, ["book", "reader"])
    assert handlers["sweep"].settings.max_attempts == 1


def test_periodic_task_becomes_a_schedule_of_a_handler_without_its_timestamp(inventory: Inventory) -> None:
    app = declared(inventory)

    [schedule] = app.schedules.values()
    assert (schedule.name, schedule.cron) == ("library.loans.daily_report weekdays", "0 7 * * mon-fri")
    assert list(app.handlers["library.loans.daily_report"].signature.fields) == []


@pytest.mark.parametrize("code", INSTEAD)
def test_each_defer_is_reported_with_its_replacement(inventory: Inventory, code: str) -> None:
    assert {call.code: call.instead for call in inventory.calls}[code] == INSTEAD[code]


def test_feature_without_an_equivalent_is_reported_with_the_reason(inventory: Inventory) -> None:
    assert {gap.code: gap.reason.partition(":")[0] for gap in inventory.gaps} == {
        "app.periodic(cron='*/10 * * * * *')": "a cron expression has five fields here, without seconds; app.schedule(every=...) accepts seconds",
        "app.job_manager.get_job_status_async(job_id=1)": "client.get, client.list_chains and `rolecall tasks list` read tasks; client.cancel and client.retry change them",
    }
