"""The effects of the options of calls and declarations, and the options that are rejected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from rolecall import InvalidDeclaration, InvalidPayload, InvalidSchedule, InvalidTask, Task
from rolecall.celery import Celery, chain, chord, current_app, group, signature
from rolecall.celery.routes import queue_of
from rolecall.celery.schedules import crontab

MOMENT = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def celery(database: str) -> Iterator[Celery]:
    app = Celery("test", database=database)
    yield app
    app.client.close()


def enqueued(app: Any, result: Any) -> Task:
    found: Task = app.client.get(int(result.id))
    return found


def test_queues_become_roles(shop: ModuleType) -> None:
    roles = {name: handler.role for name, handler in shop.app.rolecall.handlers.items()}

    assert (roles["shop.tasks.add"], roles["shop.tasks.greet"], roles["shop.reports.nightly"]) == (
        "shop",
        "mail",
        "reports",
    )


def test_undeclared_queue_becomes_a_role(shop: ModuleType) -> None:
    task = enqueued(shop.app, shop.add.apply_async((1, 2), queue="urgent"))

    assert task.role == "urgent"


def test_unknown_queue_is_rejected_if_configured(celery: Celery) -> None:
    add = celery.task(lambda x: x, name="one")
    celery.conf.task_create_missing_queues = False

    with pytest.raises(InvalidDeclaration, match="'urgent' is not among task_queues"):
        add.apply_async((1,), queue="urgent")


def test_countdown_and_eta_set_the_due_time(shop: ModuleType) -> None:
    later = enqueued(shop.app, shop.add.apply_async((1, 2), countdown=3600))
    then = enqueued(shop.app, shop.add.apply_async((1, 2), eta=MOMENT))
    naive = enqueued(shop.app, shop.add.apply_async((1, 2), eta=MOMENT.replace(tzinfo=None)))

    assert later.status == "scheduled"
    assert then.scheduled_for == MOMENT
    # As with Celery it is in UTC, though the shop is in Berlin.
    assert naive.scheduled_for == MOMENT


def test_expires_is_a_duration_from_the_call_or_a_time(shop: ModuleType) -> None:
    now = datetime.now(UTC)
    options: list[dict[str, Any]] = [
        {"expires": 600},
        {"expires": timedelta(minutes=10)},
        {"expires": now + timedelta(minutes=10)},
        {"expires": 600, "countdown": 60},
    ]

    for each in options:
        expires_at = enqueued(shop.app, shop.add.apply_async((1, 2), **each)).expires_at
        assert expires_at is not None
        assert abs(expires_at - now - timedelta(minutes=10)) < timedelta(seconds=30)


@pytest.mark.parametrize(("broker", "given", "ours"), [("amqp://", 9, 9), ("redis://", 9, -9), ("redis://", 0, 0)])
def test_priority_follows_the_convention_of_the_broker(database: str, broker: str, given: int, ours: int) -> None:
    app = Celery("test", broker=broker, database=database)
    one = app.task(lambda: None, name="one")

    assert enqueued(app, one.apply_async(priority=given)).priority == ours
    app.client.close()


def test_declared_priority_applies_to_each_call(shop: ModuleType) -> None:
    assert enqueued(shop.app, shop.greet.delay("Ada")).priority == 7


def test_arguments_become_fields_by_name(shop: ModuleType) -> None:
    task = enqueued(shop.app, shop.greet.delay("Ada", "Grace", greeting="Hi", loud=True))

    assert task.payload == {"name": "Ada", "others": ["Grace"], "greeting": "Hi", "rest": {"loud": True}}


def test_chain_is_stored_in_one_payload_field(shop: ModuleType) -> None:
    task = enqueued(shop.app, (shop.add.s(1, 2) | shop.add.s(3).set(queue="mail")).delay())

    assert task.payload["canvas"] == {
        "rest": [{"task": "shop.tasks.add", "args": [3], "kwargs": {}, "options": {"role": "mail"}, "immutable": False}]
    }


def test_invalid_arguments_are_reported_at_the_call(shop: ModuleType) -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        shop.add.delay(1)
    with pytest.raises(TypeError, match="too many positional arguments"):
        (shop.add.s(1, 1) | shop.add.s(1, 2)).delay()
    with pytest.raises(TypeError, match="too many positional arguments"):
        chord([shop.add.s(1, 1)])(shop.add.s(1, 2))


def test_value_that_would_arrive_changed_is_rejected(shop: ModuleType) -> None:
    with pytest.raises(InvalidPayload, match="x has the type Decimal, which JSON would change: annotate"):
        shop.add.delay(Decimal(1), 2)
    with pytest.raises(InvalidPayload, match="y has the type datetime"):
        (shop.add.s(1, 1) | shop.add.s(MOMENT)).delay()


def test_signature_options_override_the_declaration_and_call_options_override_both(shop: ModuleType) -> None:
    output = shop.greet.s("Ada").set(priority=3)

    assert enqueued(shop.app, output.apply_async(countdown=1)).priority == 3
    assert enqueued(shop.app, output.apply_async(priority=4)).priority == 4


def test_default_priority_applies_to_calls_without_one(celery: Celery) -> None:
    celery.conf.task_default_priority = 5
    one = celery.task(lambda: None, name="one")

    assert enqueued(celery, one.delay()).priority == 5
    assert enqueued(celery, one.apply_async(priority=6)).priority == 6


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        (
            {"mail.*": {"queue": "mail", "routing_key": "mail", "priority": 3}},
            "task_routes sets priority for mail.send",
        ),
        ({"mail.*": {"routing_key": "mail"}}, "task_routes sets routing_key for mail.send"),
        ([lambda name: "mail"], "use name patterns with their queues"),
    ],
)
def test_route_with_more_than_a_queue_is_rejected(routes: Any, expected: str) -> None:
    with pytest.raises(InvalidDeclaration, match=expected):
        queue_of("mail.send", routes)


def test_first_matching_route_is_used() -> None:
    routes = [("mail.bulk", "bulk"), (re.compile(r"mail\..*"), {"queue": "mail"})]

    assert [queue_of(name, routes) for name in ("mail.bulk", "mail.send", "other")] == ["bulk", "mail", None]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"task_id": "7"}, "task_id= has no equivalent: the database assigns ids"),
        ({"link_error": "x"}, "link_error= has no equivalent: enqueue a task that needs this one"),
        ({"soft_time_limit": 1}, "soft_time_limit= has no equivalent"),
        ({"routing_key": "x"}, "use queue= alone"),
        ({"serializer": "pickle"}, "serializer='pickle' has no equivalent: payloads and results are JSON"),
        ({"priority": -1}, "priority=-1 is not between 0 and 255"),
    ],
)
def test_call_option_without_an_equivalent_names_the_alternative(
    shop: ModuleType, words: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidTask, match=expected):
        shop.add.apply_async((1, 2), **words)


def test_unknown_option_is_rejected(shop: ModuleType) -> None:
    with pytest.raises(
        TypeError, match="count_down= is not an option of a call; the options are connection, countdown"
    ):
        shop.add.apply_async((1, 2), count_down=3)
    with pytest.raises(TypeError, match="max_retry= is not an option of a task"):
        shop.app.task(max_retry=3)(len)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"rate_limit": "10/m"}, "rate_limit= has no equivalent: there are no rate limits"),
        ({"soft_time_limit": 5}, "soft_time_limit= has no equivalent: threads cannot be interrupted"),
        ({"acks_on_failure_or_timeout": False}, "acks_on_failure_or_timeout= has no equivalent: failed tasks are kept"),
        ({"base": object}, "base= has no equivalent: use a middleware"),
        ({"serializer": "pickle"}, "serializer='pickle' has no equivalent"),
    ],
)
def test_declaration_without_an_equivalent_names_the_alternative(
    celery: Celery, words: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidDeclaration, match=expected):
        celery.task(lambda: None, name="one", **words)


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("task_always_eager", True, "run enqueued tasks with rolecall.testing.inline"),
        ("CELERY_TASK_ALWAYS_EAGER", True, "rolecall.testing.inline"),
        ("task_soft_time_limit", 10, "threads cannot be interrupted"),
        ("task_serializer", "pickle", "only json works"),
        ("task_acks_on_failure_or_timeout", False, "failed tasks are kept"),
        (
            "task_annotations",
            {"*": {"rate_limit": "1/s"}},
            "set the options where the task is declared; a rate_limit has no equivalent",
        ),
    ],
)
def test_setting_without_an_equivalent_is_rejected(celery: Celery, setting: str, value: object, expected: str) -> None:
    with pytest.raises(InvalidDeclaration, match=expected):
        celery.conf.update({setting: value})


def test_disabled_or_irrelevant_setting_is_accepted(celery: Celery) -> None:
    celery.conf.update(task_acks_on_failure_or_timeout=True, task_always_eager=False, worker_concurrency=4, our_own="x")

    assert (celery.conf.our_own, celery.conf["worker_concurrency"]) == ("x", 4)


def test_coroutine_and_reserved_parameter_name_are_rejected() -> None:
    async def later() -> None: ...

    def canvas(canvas: int) -> None: ...

    one = Celery("one", set_as_current=False)
    one.task(later, name="later")
    with pytest.raises(InvalidDeclaration, match="task 'later' is async"):
        one.finalize()

    other = Celery("other", set_as_current=False)
    other.task(canvas, name="canvas")
    with pytest.raises(InvalidDeclaration, match="rename the parameter canvas"):
        other.finalize()


def test_failed_finalization_is_reported_again() -> None:
    app = Celery("one", include=["no_such_module"], set_as_current=False)
    app.task(lambda: None, name="one")

    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            app.finalize()

    app.conf.include = ()
    assert "one" in app.rolecall.handlers


def test_each_app_has_its_own_schedules() -> None:
    one, other = Celery("one", set_as_current=False), Celery("other", set_as_current=False)

    one.conf.beat_schedule["tick"] = {"task": "elsewhere", "schedule": 60}

    assert (list(one.rolecall.schedules), list(other.rolecall.schedules)) == (["tick"], [])


def test_task_of_another_program_needs_named_arguments(celery: Celery, database: str) -> None:
    celery.client.open()
    task = enqueued(celery, celery.send_task("elsewhere.greet", kwargs={"name": "Ada"}, queue="mail"))

    assert (task.handler, task.role, task.payload) == ("elsewhere.greet", "mail", {"name": "Ada"})
    with pytest.raises(InvalidTask, match="pass its arguments by name"):
        celery.send_task("elsewhere.greet", ["Ada"], queue="mail")


def test_most_recently_created_app_is_the_current_one(celery: Celery) -> None:
    celery.task(lambda x: x, name="one")

    assert current_app.main == "test"
    assert enqueued(celery, current_app.send_task("one", [1])).payload == {"x": 1}
    assert enqueued(celery, signature("one", args=(2,)).delay()).payload == {"x": 2}


def test_non_signature_is_rejected_at_composition(shop: ModuleType) -> None:
    with pytest.raises(InvalidTask, match="is not a signature: write task.s"):
        chain(shop.add.s(1, 2), 3)
    with pytest.raises(InvalidTask, match="the chain is empty"):
        chain().delay()
    with pytest.raises(InvalidTask, match="a chord needs a body"):
        chord([shop.add.s(1, 1)]).delay()
    with pytest.raises(InvalidTask, match="link= has no equivalent for a group"):
        group(shop.add.s(1, 1)).apply_async(link=shop.tsum.s())


def test_beat_schedule_becomes_schedules(shop: ModuleType) -> None:
    schedules = {
        name: (each.handler, each.cron, each.every, each.payload, each.zone)
        for name, each in shop.app.rolecall.schedules.items()
    }

    assert schedules == {
        "nightly report": ("shop.reports.nightly", "30 3 * * mon-fri", None, {"shops": "all"}, "Europe/Berlin"),
        "heartbeat": ("shop.tasks.beat", None, 300.0, {}, "Europe/Berlin"),
        "greet everybody": ("shop.tasks.greet", None, 3600.0, {"name": "everybody"}, "Europe/Berlin"),
    }


def test_crontab_with_another_meaning_in_cron_is_rejected() -> None:
    with pytest.raises(InvalidSchedule, match="cron matches either"):
        crontab(day_of_month=1, day_of_week="monday")

    assert crontab(minute="*/5", hour=[7, 19], month_of_year="January").expression == "*/5 7,19 * jan *"
