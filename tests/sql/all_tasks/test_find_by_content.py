"""Tasks are found by a text in their error and by fields of their payload."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine
from tests.sql.problems.pool import found


def test_error_filter_ignores_case_and_other_fields(engine: Engine) -> None:
    failed = engine.enqueue(max_attempts=1)
    engine.fail(engine.claim_one(), "HTTPError: 429 Too Many Requests")
    engine.enqueue(payload={"code": "429 too many"})

    assert found(engine, error="429 too many") == [failed]
    assert found(engine, error="500") == []


@pytest.mark.parametrize(
    ("part", "fits"),
    [
        ({"store": 58}, True),
        ({"store": "58"}, False),
        ({"order": {"id": 7}}, True),
        ({"order": {"id": 7}, "store": 1}, False),
        ({"tags": ["b"]}, True),
        ({"missing": None}, False),
    ],
)
def test_payload_filter_finds_payloads_that_contain_it(engine: Engine, part: dict[str, object], fits: bool) -> None:
    task = engine.enqueue(payload={"store": 58, "order": {"id": 7, "by": "ada"}, "tags": ["a", "b"]})

    assert found(engine, payload=part) == ([task] if fits else [])


def test_payloads_of_handlers_with_secrets_are_not_searched(engine: Engine) -> None:
    secret = {"type": "object", "properties": {"pin": {"type": "integer", "writeOnly": True}}}
    engine.declare(handlers=[{"name": "charge", "role": "work", "signature": secret}])
    engine.enqueue(handler="charge", payload={"pin": 1234, "store": 58})

    assert found(engine, payload={"pin": 1234}) == []


def test_bulk_action_uses_error_and_payload(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work", "payload": {"store": number}} for number in (57, 58)])
    engine.rows("select rolecall.start_bulk_action('cancel', %s, 'ada', 1)", Jsonb({"payload": {"store": 58}}))

    engine.clock.advance(seconds=60)
    engine.rows("select * from rolecall.work_off_bulk_action()")

    assert engine.states() == {ids[0]: "pending", ids[1]: "cancelled"}
