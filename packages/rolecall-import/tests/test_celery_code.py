"""Import of a Celery code base."""

from __future__ import annotations

from pathlib import Path

import pytest
from rolecall_import import Inventory, module_text, read_code

from rolecall import no_retry

from .code_bases import SAMPLES, asked_of, declared, inventory_of

NAMES = """
import json
from shop.app import app
import shop.tasks, shop.reports, shop.limits
app.finalize()
print(json.dumps(sorted(name for name in app.tasks if not name.startswith("celery."))))
"""
INSTEAD = {
    "say_hello.delay(name, greeting='Welcome')": "say_hello.enqueue(name, greeting='Welcome')",
    "say_hello.apply_async(args=(name,), kwargs={'greeting': 'Hello again'}, countdown=60 * 60, queue='slow')": "say_hello.using(after=60 * 60, role='slow').enqueue(name, greeting='Hello again')",
    "celery_app.send_task('mul', args=(2,), kwargs={'y': 3})": "multiply.enqueue(2, y=3)",
    "celery_app.send_task('elsewhere.bill', kwargs={'order': 7}, queue='bills')": "client.enqueue('elsewhere.bill', {...}, role='bills')  # fields by name",
    "chain(add.s(order, 1), multiply.s(2), add.s(100))": "add.enqueue(order, 1)\n"
    "and in add: ctx.continue_with(multiply.task(result, 2))\n"
    "and in multiply: ctx.continue_with(add.task(result, 100))",
    "(add.s(1, 2) | shop.tasks.multiply.si(4)).apply_async()": "add.enqueue(1, 2)\n"
    "and in add: ctx.continue_with(shop.tasks.multiply.task(4))",
    "group((add.s(n, n) for n in numbers)).delay()": "one statement for all of them:\n"
    "client.enqueue_many((add.task(n, n) for n in numbers))",
    "broken.apply_async(link_error=say_hello.s('nobody'), task_id='order-7')": "broken.enqueue()",
    "AsyncResult(result.id)": "client.get(task) reads state and result, client.wait(task, timeout=...) waits for them",
}


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of("celery")


def test_found_tasks_match_those_that_celery_registers(inventory: Inventory) -> None:
    assert sorted(task.name for task in inventory.tasks) == asked_of("celery", NAMES)


def test_printed_module_declares_tasks_with_roles_and_attempts(inventory: Inventory) -> None:
    handlers = declared(inventory).handlers
    said = {name: (each.role, each.settings.max_attempts) for name, each in handlers.items()}

    assert said["shop.tasks.add"] == ("shop", 4)
    assert said["shop.tasks.greet"] == ("mail", 4)
    assert said["shop.reports.nightly"] == ("reports", 4)
    assert said["shop.tasks.fetch"] == ("shop", 3)
    assert said["shop.tasks.unsteady"] == ("shop", 2)


def test_backoff_becomes_an_exponential_policy(inventory: Inventory) -> None:
    patient = declared(inventory).handlers["shop.limits.patient"].settings

    assert patient.max_attempts == 9
    assert patient.retry is not None
    assert (patient.retry.first, patient.retry.factor, patient.retry.cap) == (5, 2, 120)


def test_bound_task_receives_the_context_instead_of_itself(inventory: Inventory) -> None:
    fetch = declared(inventory).handlers["shop.tasks.fetch"]

    assert fetch.takes_context
    assert list(fetch.signature.fields) == ["url", "fail"]


def test_beat_schedule_becomes_schedules(inventory: Inventory) -> None:
    schedules = declared(inventory).schedules

    assert {name: (each.handler, each.cron or each.every, each.payload) for name, each in schedules.items()} == {
        "nightly report": ("shop.reports.nightly", "30 3 * * mon-fri", {"shops": "all"}),
        "heartbeat": ("shop.tasks.beat", 300, {}),
        "greet everybody": ("shop.tasks.greet", 3600, {"name": "everybody"}),
    }
    assert {each.zone for each in schedules.values()} == {"Europe/Berlin"}


@pytest.mark.parametrize("code", INSTEAD)
def test_each_call_is_reported_with_its_replacement(inventory: Inventory, code: str) -> None:
    assert {call.code: call.instead for call in inventory.calls}[code] == INSTEAD[code]


def test_call_is_reported_with_its_file_and_line(inventory: Inventory) -> None:
    [place] = [call.place for call in inventory.calls if call.code.startswith("say_hello.delay")]

    assert str(place) == "shop/views.py:17"


def test_feature_without_an_equivalent_is_reported_with_the_reason(inventory: Inventory) -> None:
    gaps = {gap.code: gap.reason for gap in inventory.gaps}

    assert set(gaps) == {
        "polite: rate_limit='10/m'",
        "polite: soft_time_limit=30",
        "link_error=say_hello.s('nobody')",
        "task_id='order-7'",
        "celery_app.control.revoke(result.id, terminate=True)",
        "app.autodiscover_tasks(['shop'])",
        "app.autodiscover_tasks(['shop'], related_name='reports')",
        "app.on_after_configure.connect",
        "log = get_task_logger(__name__)",
        "raise Ignore",
    }
    assert gaps["polite: soft_time_limit=30"].startswith("threads cannot be interrupted")


def test_printed_module_is_deterministic(inventory: Inventory) -> None:
    assert module_text(inventory_of("celery"), "shop") == module_text(inventory, "shop")


def test_values_known_only_at_run_time_are_reported_and_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(
        "from celery import Celery, shared_task, Task\n"
        "from settings import LIMITS\n"
        "app = Celery('x')\n"
        "app.conf.task_always_eager = True\n"
        "app.conf.beat_schedule = {'odd': {'task': 'tasks.one', 'schedule': LIMITS.rhythm}}\n"
        "app.conf.beat_schedule['even'] = {'task': 'elsewhere', 'schedule': 60}\n"
        "app.conf.task_routes = LIMITS.routes\n"
        "@app.task(max_retries=LIMITS.most, name='tasks:one', autoretry_for=(OSError,))\n"
        "def one(app, Context=LIMITS): ...\n"
        "def outer():\n"
        "    @shared_task\n"
        "    def inner(): ...\n"
        "class Old(Task): ...\n"
        "raise SystemExit('this is never run')\n"
    )

    inventory = read_code("celery", tmp_path)

    [task] = inventory.tasks
    assert "max_retries=LIMITS.most: its value is not a literal" in task.notes
    assert "Context had the default LIMITS" in task.notes
    assert declared(inventory).handlers["tasks-one"].settings.max_attempts == 4
    assert [(each.name, each.task) for each in inventory.schedules] == [("even", "elsewhere")]
    assert [gap.code for gap in inventory.gaps] == [
        "task_always_eager = True",
        "schedule odd: {'task': 'tasks.one', 'schedule': LIMITS.rhythm}",
        "task_routes = LIMITS.routes",
        "def inner",
        "class Old(Task)",
    ]


def test_task_expiry_counts_from_its_call_as_before(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(
        "from celery import shared_task\n@shared_task\ndef send(n): ...\nsend.apply_async((1,), countdown=10, expires=60)\n"
    )

    [call] = read_code("celery", tmp_path).calls

    assert call.instead == "send.using(after=10, expires=60 - 10).enqueue(1)"


def test_functions_with_the_same_name_are_distinguished(tmp_path: Path) -> None:
    for folder in ("mail", "bills"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
        (tmp_path / folder / "tasks.py").write_text("from celery import shared_task\n@shared_task\ndef send(n): ...\n")

    inventory = read_code("celery", tmp_path)

    assert [task.function for task in inventory.tasks] == ["send", "mail_tasks_send"]
    assert set(declared(inventory).handlers) == {"bills.tasks.send", "mail.tasks.send"}


@pytest.fixture(scope="module")
def refused() -> Inventory:
    return read_code("celery", SAMPLES / "celery-refused")


@pytest.mark.parametrize(("task", "attempts"), [("send_mail", 6), ("send_letter", 8), ("plain", 4)])
def test_options_of_a_task_class_apply_to_its_tasks(refused: Inventory, task: str, attempts: int) -> None:
    assert declared(refused).handlers[f"old.{task}"].settings.max_attempts == attempts


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("task_failure.connect", "a middleware sees every attempt and its error: app.use(...)"),
        ("worker_process_init.connect", "a lifespan sets up and closes resources"),
        ("Mailing.on_failure", "a middleware sees every attempt"),
        ("Mailing.connection", "a task has no methods"),
        ("Mailing: connections = {}", "its options are written at the tasks"),
        ("link_error=failed.s()", "enqueue a task that needs this one"),
        ("app.autodiscover_tasks(['billing'])", "import the modules that declare handlers"),
        ("task_always_eager = True", "in tests, run enqueued tasks"),
        ("broker_pool_limit = 3", "Celery's brokers, processes and result stores are not used"),
        ("Celery(strict_typing=True)", "Celery's brokers, processes and result stores are not used"),
        ("raise Reject(error) from error", "return rolecall.Cancel(reason)"),
        ("colour='red'", "no option of a task is like it"),
        ("schedule often: options", "set it in the declaration of the task"),
    ],
)
def test_construct_without_an_equivalent_is_listed_with_a_hint(refused: Inventory, code: str, hint: str) -> None:
    reasons = {gap.code: gap.reason for gap in refused.gaps}

    assert reasons[code].startswith(hint)


@pytest.mark.parametrize("setting", ["task_acks_late = True", "worker_max_tasks_per_child = 1000"])
def test_setting_is_listed_with_its_replacement(refused: Inventory, setting: str) -> None:
    assert setting in {call.code for call in refused.calls}


def test_early_acknowledged_task_has_no_retries_after_a_loss(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(
        "from celery import shared_task\n@shared_task(acks_late=False)\ndef one(): ...\n"
    )

    [handler] = declared(read_code("celery", tmp_path)).handlers.values()

    assert handler.settings.retry == no_retry()
