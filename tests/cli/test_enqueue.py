"""`rolecall enqueue`: accepted and rejected input."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]

# Arguments, the exit code, and a part of the one-line error.
REFUSED = [
    (["add", '{"a": NaN}'], 2, "NaN"),
    (["add", '{"a": 1e400}'], 2, "inf"),
    (["add", '{"a": "\\u0000"}'], 2, "NUL"),
    (["add", '{"a": "\\ud800"}'], 2, "surrogate"),
    (["add", "[1]"], 2, "a list, not an object"),
    (["add", "null"], 2, "null, not an object"),
    (["add", '"text"'], 2, "a string, not an object"),
    (["add", "{"], 2, "not JSON"),
    (["add", "[" * 100_000], 2, "payload"),
    (["add", "9" * 5_000], 2, "not JSON"),
    (["add", "@missing.json"], 2, "missing.json"),
    (["add", "--priority", "101"], 2, "priority 101"),
    (["add", "--priority", "-101"], 2, "priority -101"),
    (["add", "--priority", str(10**12)], 2, "out of range"),
    (["add", "--priority", "high"], 2, "priority"),
    (["add", "--at", "someday"], 2, "someday"),
    (["add", "--at", "9999-12-31"], 2, "hundred years"),
    (["add", "--at", "12026-01-01"], 2, "not a date"),
    (["add", "--after", "soon"], 2, "--after"),
    (["add", "--after", "nan"], 2, "nan"),
    (["add", "--after", "9000000000"], 2, "hundred years"),
    (["add", "--expires", "soon"], 2, "neither a duration"),
    (["add", "--expires", "0"], 2, "expires is 0 s"),
    (["add", "--expires", "9999-12-31"], 2, "hundred years"),
    (["add", "--expires", "2050-01-01", "--at", "2051-01-01"], 2, "before it is due"),
    (["add", "--key", ""], 2, "key"),
    (["add", "--key", "k" * 201], 2, "key"),
    (["add", "--max-attempts", "-1"], 2, "max_attempts"),
    (["add", "--wait", "long"], 2, "--wait"),
    (["ad"], 4, "did you mean 'add'?"),
    (["nobody-knows-me"], 4, "unknown role"),
    (["add", "--role", "sum"], 4, "did you mean 'sums'?"),
    (["add", "{}", "--colour", "red"], 2, "--colour"),
    ([], 2, "handler"),
]


def test_task_is_enqueued_with_all_given_options(cli: Run, sql: Sql) -> None:
    done = cli(
        "enqueue", "add", '{"a": 1, "b": "é"}',
        "--priority", "-5", "--key", "k", "--dedupe-key", "d", "--max-attempts", "3", "--json",
    )  # fmt: skip

    assert (done.code, done.err) == (0, "")
    task_id = done.json["id"]
    assert done.json == {"id": task_id, "deduplicated": False}
    [row] = sql("select role, handler, payload, priority, key, dedupe_key, max_attempts from rolecall.all_tasks")
    assert row == ("sums", "add", {"a": 1, "b": "é"}, -5, "k", "d", 3)


def test_text_output_names_the_task(cli: Run) -> None:
    assert re.fullmatch(r"task \d+ enqueued\n", cli("enqueue", "add").out)


def test_duplicate_of_a_dedupe_key_is_reported(cli: Run) -> None:
    first = cli("enqueue", "add", "--dedupe-key", "d", "--json").json

    assert cli("enqueue", "add", "--dedupe-key", "d", "--json").json == first | {"deduplicated": True}


def test_payload_can_be_read_from_a_file(cli: Run, folder: Path, sql: Sql) -> None:
    (folder / "payload.json").write_text('\ufeff{"from": "file"}')

    assert cli("enqueue", "add", "@payload.json").code == 0
    assert sql("select payload from rolecall.all_tasks") == [({"from": "file"},)]


def test_payload_can_be_read_from_stdin(cli: Run, sql: Sql) -> None:
    assert cli("enqueue", "add", "-", stdin='{"from": "stdin"}').code == 0
    assert sql("select payload from rolecall.all_tasks") == [({"from": "stdin"},)]


def test_payload_file_that_is_not_utf8_is_rejected(cli: Run, folder: Path) -> None:
    (folder / "payload.json").write_bytes(b'{"a": "\xff"}')

    assert cli("enqueue", "add", "@payload.json").code == 2


def test_date_with_an_offset_is_stored_exactly(cli: Run, sql: Sql) -> None:
    assert cli("enqueue", "add", "--at", "2050-01-31T12:00:00+02:00").code == 0

    [(due,)] = sql("select scheduled_for from rolecall.all_tasks")
    assert due == datetime.fromisoformat("2050-01-31T10:00:00Z")


def test_past_date_schedules_the_task_immediately(cli: Run, sql: Sql) -> None:
    assert cli("enqueue", "add", "--at", "1999-01-01").code == 0
    assert sql("select status from rolecall.all_tasks") == [("ready",)]


def test_delay_is_counted_from_now(cli: Run, sql: Sql) -> None:
    assert cli("enqueue", "add", "--after", "1h30m").code == 0
    assert sql("select scheduled_for - created_at from rolecall.all_tasks") == [(timedelta(minutes=90),)]


@pytest.mark.parametrize(
    ("when", "question", "answer"),
    [
        ("15m", "expires_at - scheduled_for", timedelta(minutes=15)),
        ("2050-01-31T12:00:00Z", "expires_at", datetime.fromisoformat("2050-01-31T12:00:00Z")),
    ],
)
def test_expiry_can_be_a_duration_or_a_date(cli: Run, sql: Sql, when: str, question: str, answer: object) -> None:
    assert cli("enqueue", "add", "--after", "1h", "--expires", when).code == 0
    assert sql(f"select {question} from rolecall.all_tasks") == [(answer,)]


@pytest.mark.parametrize(("arguments", "code", "part"), REFUSED, ids=lambda value: str(value)[:40])
def test_invalid_input_is_rejected_in_one_line_and_stores_nothing(
    cli: Run, sql: Sql, arguments: list[str], code: int, part: str
) -> None:
    done = cli("enqueue", *arguments)

    assert (done.code, done.out) == (code, "")
    [line] = done.err.splitlines()
    assert line.startswith("rolecall: ")
    assert part.lower() in line.lower()
    assert sql("select count(*) from rolecall.all_tasks") == [(0,)]


def test_wait_timeout_is_reported_and_keeps_the_task(cli: Run, sql: Sql) -> None:
    done = cli("enqueue", "add", "--wait", "0.05")

    assert done.code == 8
    assert "did not finish" in done.err
    assert sql("select count(*) from rolecall.all_tasks") == [(1,)]


def test_payload_that_does_not_match_the_declared_signature_is_rejected(cli: Run, sql: Sql) -> None:
    signature = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
    sql(f'select rolecall.declare(\'[]\', \'[{{"name": "greet", "role": "sums", "signature": {signature}}}]\')')

    refused = cli("enqueue", "greet", '{"name": 7}')

    assert (refused.code, refused.err) == (
        2,
        "rolecall: payload of 'greet': expected string, got integer - at $.name\n",
    )
    assert cli("enqueue", "greet", '{"name": "Ada"}').code == 0
