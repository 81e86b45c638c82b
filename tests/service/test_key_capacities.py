"""Operator actions on key capacities."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from binascii import crc32

import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ConfigError, InvalidCursor, InvalidDeclaration
from rolecall.model.operator.pages import write_cursor, write_text_cursor
from rolecall.service.services import Services
from tests.sql.engine import Engine

# Correct in form, but the bytes are not text.
NO_TEXT = urlsafe_b64encode(b"\x02\xff" + crc32(b"\x02\xff").to_bytes(4, "big")).decode()
WILD = ["💥" * 200, "a b", "tenant:*", "*"]


async def test_set_and_reset_return_the_previous_capacity(services: Services) -> None:
    answers = [
        await services.key_capacities.set("tenant:*", 2),
        await services.key_capacities.set("tenant:*", 3),
        await services.key_capacities.reset("tenant:*"),
        await services.key_capacities.reset("tenant:*"),
    ]

    assert answers == [None, 2, 3, None]


async def test_key_identical_to_a_pattern_is_not_treated_as_the_pattern(services: Services, pool: Engine) -> None:
    pool.enqueue("sums", key="tenant:*")
    pool.claim_one()
    await services.key_capacities.set("tenant:*", 2)

    assert await services.key_capacities.reset("tenant:*") == 2


async def test_capacity_changes_are_recorded_in_the_audit_log(services: Services) -> None:
    await services.key_capacities.set("tenant:*", 2)
    await services.key_capacities.reset("tenant:*")

    reset, was_set = await services.audit.list(AuditFilter())

    assert (was_set.action, was_set.detail, was_set.outcome) == (
        "key_capacities.set", {"pattern": "tenant:*", "capacity": 2}, None,
    )  # fmt: skip
    assert (reset.action, reset.detail, reset.outcome) == ("key_capacities.reset", {"pattern": "tenant:*"}, 2)


async def test_rejected_capacity_is_not_recorded(services: Services) -> None:
    with pytest.raises(InvalidDeclaration):
        await services.key_capacities.set("a*b", 2)

    assert await services.audit.list(AuditFilter()) == []


async def test_list_is_paginated_with_any_characters_in_keys(services: Services) -> None:
    for pattern in WILD:
        await services.key_capacities.set(pattern, 2)
    found: list[str] = []
    cursor = None
    for _ in WILD:
        page = await services.key_capacities.list(cursor, limit=1)
        found += [result.pattern for result in page.items]
        cursor = page.next_cursor

    assert found == sorted(WILD)
    assert cursor is None


@pytest.mark.parametrize("cursor", ["", "x", write_cursor(7), write_text_cursor("a")[:-1], NO_TEXT])
async def test_unknown_cursor_is_rejected(services: Services, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        await services.key_capacities.list(cursor)


async def test_key_is_shown_with_the_tasks_that_hold_its_permits(services: Services, pool: Engine) -> None:
    await services.key_capacities.set("tenant:*", 2)
    pool.enqueue_many([{"role": "sums", "key": "tenant:7"}] * 5)
    holders = sorted(claim.id for claim in pool.claim(5))

    detail = await services.key_capacities.show("tenant:7")

    assert sorted(task.id for task in detail.tasks) == sorted(detail.key.holders) == holders
    assert (detail.key.capacity, detail.key.pattern, detail.key.used) == (2, "tenant:*", 2)
    assert (detail.key.waiting, detail.key.later, detail.key.more) == (3, 0, False)


async def test_unused_key_is_shown_too(services: Services) -> None:
    detail = await services.key_capacities.show("nobody's")

    assert (detail.key.capacity, detail.key.pattern, detail.tasks) == (1, None, [])


@pytest.mark.parametrize("key", ["", "x" * 201])
async def test_invalid_key_is_rejected(services: Services, key: str) -> None:
    with pytest.raises(ConfigError, match="1 to 200 characters"):
        await services.key_capacities.show(key)
