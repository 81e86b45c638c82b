"""The service hides declared values; handlers and clients see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from rolecall import InvalidPayload, InvalidSchedule, NewTask
from rolecall.db.run import run
from rolecall.model.audit import AuditFilter
from rolecall.model.errors import HandlerNotFound
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.schedules import Schedule, StoredSchedule
from rolecall.service.services import Services
from rolecall.sql import enqueue, outside, roles, schedules, tasks
from rolecall.sql.audit import list_
from tests.secrets import CANARY, SHOWN, SIGN, payload, program

Sql = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def vault(services: Services, connection: Sql) -> Services:
    """The services of a pool without an app: handlers are known from their stored declarations only."""
    run(connection, roles.declare(*program().declaration()))
    return services


async def enqueued(services: Services, **more: Any) -> int:
    return (await services.tasks.enqueue(NewTask(handler="sync", payload=payload(), **more))).id


async def ended(services: Services, connection: Sql, **more: Any) -> int:
    task_id = await enqueued(services, **more)
    run(connection, outside.complete(task_id, {"number": 1, "pin": f"{CANARY}-result"}))
    return task_id


async def test_task_is_shown_with_placeholders_for_redacted_values(services: Services, connection: Sql) -> None:
    task_id = await ended(services, connection)

    task = await services.tasks.get(task_id)

    assert (task.payload, task.result) == (SHOWN, {"number": 1, "pin": SIGN})


async def test_stored_value_read_by_programs_is_unredacted(services: Services, connection: Sql) -> None:
    task_id = await ended(services, connection)

    task = run(connection, tasks.get(task_id))

    assert (task.payload, task.result["pin"]) == (payload(), f"{CANARY}-result")


async def test_no_task_response_contains_redacted_values(services: Services, connection: Sql) -> None:
    needed = await ended(services, connection)
    parent = await enqueued(services, needs=[needed])
    answers = [
        await services.tasks.show(needed),
        await services.tasks.detail(needed, most=10_000),
        await services.tasks.detail(needed, most=10),
        await services.tasks.needs(parent),
        await services.tasks.tree(parent),
        await services.tasks.wait(needed, 1),
        await services.tasks.why(parent),
        await services.chains.get(needed),
        await services.chains.show(needed),
        await services.chains.outline(needed),
        await services.trees.outline(parent),
    ]

    assert CANARY not in repr(answers)
    assert repr(answers).count(SIGN) > len(answers)


async def test_chain_result_is_redacted_by_its_last_handler(services: Services, connection: Sql) -> None:
    first = (await services.tasks.enqueue(NewTask(handler="open", payload={"shop": "x"}))).id
    worker_id = connection.execute("select rolecall.register_worker('w', '{}', '{open}', 1, 'h', 1, '0')").fetchone()
    claimed = connection.execute("select fence from rolecall.claim(%s, '{}', '{open}', 1)", worker_id).fetchone()
    assert worker_id is not None
    assert claimed is not None
    following = {"continuation": {"handler": "sync", "payload": payload()}}
    report = [{"id": first, "fence": claimed[0], "outcome": "completed", "next": following}]
    connection.execute("select * from rolecall.finish(%s, %s)", [worker_id[0], json.dumps(report)])
    chain = await services.chains.get(first)
    run(connection, outside.complete(chain.last_id, {"number": 1, "pin": CANARY}))

    assert (await services.chains.get(first)).result == {"number": 1, "pin": SIGN}


async def test_missing_result_is_shown_as_none(services: Services) -> None:
    assert (await services.tasks.get(await enqueued(services))).result is None


async def test_owner_of_a_task_also_sees_placeholders(services: Services) -> None:
    task = await services.owned_tasks.enqueue(NewTask(handler="sync", payload=payload()), "ada", "mine")

    assert task.payload == SHOWN


async def test_search_cannot_find_a_task_by_a_redacted_value(services: Services) -> None:
    """Otherwise searches could reveal the value letter by letter."""
    await enqueued(services)
    plain = (await services.tasks.enqueue(NewTask(handler="open", payload={"shop": "x", "token": CANARY}))).id

    found = await services.tasks.list(TaskFilter(text=CANARY[:-2]))

    assert [task.id for task in found.items] == [plain]


async def test_payload_copied_with_placeholders_is_rejected(services: Services) -> None:
    with pytest.raises(InvalidPayload, match=r"give the value itself - at `\$\.accounts\[0\]\.pin`"):
        await services.tasks.enqueue(NewTask(handler="sync", payload=payload(accounts=[{"number": 7, "pin": SIGN}])))


async def test_placeholder_is_an_ordinary_string_where_nothing_is_redacted(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="open", payload={"shop": SIGN}))

    assert (await services.tasks.get(task.id)).payload == {"shop": SIGN}


POINTER = {
    "rolecall": "payload field stored elsewhere",
    "store": "s3://shop/large",
    "path": "payload-0.json",
    "bytes": 70_000,
    "sha256": "0",
}


async def test_large_redacted_value_shows_only_its_size(services: Services, connection: Sql) -> None:
    pointers = {"shop": POINTER, "token": {**POINTER, "more": 1}}
    [task] = run(connection, enqueue.enqueue_many([NewTask(handler="open", payload=pointers)]))

    shown = (await services.tasks.get(task.id)).payload

    assert shown == {"shop": "[kept elsewhere, 70000 bytes]", "token": pointers["token"]}


@pytest.mark.parametrize("expected", [POINTER, "[kept elsewhere, 70000 bytes]"])
async def test_pointer_to_a_stored_value_cannot_be_enqueued(services: Services, expected: object) -> None:
    """Neither a pointer to any place nor the displayed form of one is accepted."""
    with pytest.raises(InvalidPayload, match=r"it contains a pointer instead of the value - at `\$\.shop`"):
        await services.tasks.enqueue(NewTask(handler="open", payload={"shop": expected}))
    with pytest.raises(InvalidSchedule, match="contains a pointer"):
        await services.schedules.create(Schedule(name="x", handler="open", every=60, payload={"shop": expected}))


@pytest.fixture
async def nightly(services: Services) -> StoredSchedule:
    return await services.schedules.create(Schedule(name="nightly", handler="sync", every=3_600, payload=payload()))


def stored(connection: Sql) -> Any:
    [schedule] = run(connection, schedules.list_())
    return schedule.payload


async def test_schedule_is_shown_with_placeholders(services: Services, nightly: StoredSchedule) -> None:
    assert nightly.payload == SHOWN
    assert [each.payload for each in await services.schedules.list()] == [SHOWN]


async def test_schedule_change_preserves_redacted_values(
    services: Services, nightly: StoredSchedule, connection: Sql
) -> None:
    """The payload is sent back as it was shown, with another shop."""
    await services.schedules.change("nightly", {"payload": {**nightly.payload, "shop": "paris"}})

    assert stored(connection) == payload(shop="paris")


async def test_schedule_accepts_a_new_redacted_value(
    services: Services, nightly: StoredSchedule, connection: Sql
) -> None:
    await services.schedules.put(
        Schedule(name="nightly", handler="sync", every=3_600, payload={**nightly.payload, "token": "another"})
    )

    assert stored(connection) == payload(token="another")


@pytest.mark.parametrize(
    "change",
    [
        lambda shown: {"payload": {**shown, "accounts": [{"number": 8, "pin": SIGN}]}},
        lambda shown: {"handler": "open", "payload": shown},
        lambda _shown: {"handler": "open"},
    ],
)
async def test_redacted_value_cannot_be_moved_to_another_place(
    services: Services, nightly: StoredSchedule, connection: Sql, change: Callable[[Any], dict[str, Any]]
) -> None:
    """Neither to another item of a list nor to a handler that would show it."""
    with pytest.raises(InvalidSchedule):
        await services.schedules.change("nightly", change(nightly.payload))

    assert stored(connection) == payload()


async def test_redacted_value_is_preserved_as_of_the_time_of_the_change(
    services: Services, nightly: StoredSchedule, connection: Sql
) -> None:
    find = services.schedules._find

    async def slowly(which: str | int) -> StoredSchedule | None:
        found = await find(which)
        run(connection, schedules.change("nightly", {"payload": payload(token="newer")}))
        return found

    services.schedules._find = slowly  # type: ignore[method-assign]  # the interleaving itself

    with pytest.raises(Exception, match="changed"):
        await services.schedules.change("nightly", {"payload": nightly.payload})
    assert stored(connection) == payload(token="newer")


@pytest.mark.usefixtures("nightly")
async def test_audit_log_contains_no_redacted_values(services: Services, connection: Sql) -> None:
    await enqueued(services)
    await services.schedules.change("nightly", {"payload": payload(shop="rome")})

    output = run(connection, list_(AuditFilter()))

    assert "rome" in repr(output)
    assert CANARY not in repr(output)


async def test_handler_shows_the_schemas_of_payload_and_result(services: Services) -> None:
    handler = await services.handlers.get("sync")

    assert "writeOnly" in str(handler.signature)
    assert handler.result_schema is not None
    assert "writeOnly" in str(handler.result_schema)


async def test_redacted_values_stay_redacted_when_another_release_declares_them_visible(
    services: Services, connection: Sql
) -> None:
    task_id = await ended(services, connection)

    run(connection, roles.declare(*plain_declaration()))

    task = await services.tasks.get(task_id)
    assert (task.payload, task.result) == (SHOWN, {"number": 1, "pin": SIGN})
    assert (await services.handlers.get("sync")).retained_redactions != []


async def test_admin_reveals_values_that_only_earlier_declarations_redacted(
    services: Services, connection: Sql
) -> None:
    task_id = await ended(services, connection)
    run(connection, roles.declare(*plain_declaration()))

    assert await services.handlers.reveal("sync") is True

    assert (await services.tasks.get(task_id)).payload == payload()
    assert (await services.handlers.get("sync")).retained_redactions == []
    [entry] = run(connection, list_(AuditFilter(action="handlers.reveal")))
    assert entry.detail == {"handler": "sync"}


async def test_no_redactions_are_retained_once_the_handler_redacts_again(services: Services, connection: Sql) -> None:
    for declaration in (plain_declaration(), program().declaration(), plain_declaration(), program().declaration()):
        run(connection, roles.declare(*declaration))

    assert connection.execute("select hiding from rolecall.handlers where name = 'sync'").fetchone() == ([],)
    assert await services.handlers.reveal("sync") is False


async def test_unknown_handler_cannot_be_revealed(services: Services) -> None:
    with pytest.raises(HandlerNotFound):
        await services.handlers.reveal("nobody")


async def test_doctor_reports_a_declaration_that_redacts_less(services: Services, connection: Sql) -> None:
    run(connection, roles.declare(*plain_declaration()))

    findings = (await services.doctor.examine(listening=False)).findings

    assert "sync" in next(finding.problem for finding in findings if finding.check == "hidden_values")


def plain_declaration() -> tuple[Any, Any]:
    """Return the declaration of a release without redaction."""
    declared_roles, handlers = program().declaration()
    return declared_roles, [
        json.loads(json.dumps(handler).replace('"writeOnly": true', '"writeOnly": false')) for handler in handlers
    ]
