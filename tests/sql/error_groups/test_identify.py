"""Errors with the same cause are one group, although their messages differ."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.sql.engine import Engine

TRACEBACK = """
Traceback (most recent call last):
  File "{root}/shop/{module}.py", line {line}, in {function}
    raise
  File "{root}/.venv/lib/python3.12/site-packages/httpx/_client.py", line 901, in send
    raise exc
{error}"""


def with_traceback(error: str, module: str, function: str, line: int = 10, root: str = "/app") -> str:
    return error + TRACEBACK.format(module=module, function=function, line=line, root=root, error=error)


def unique(n: int) -> tuple[str, str, str]:
    """Return a card number, an id and an address in memory."""
    return f"4242 4242 {n:04d} {n * 7:04d}", str(UUID(int=n * 2**80 + n)), hex(0x7F30_0000_0000 + n * 4096)


# Ten ways to fail: the n-th error of each.
def errors(n: int) -> dict[str, str]:
    card, uuid, address = unique(n)
    ip = f"10.{n % 250}.{n // 250}.7"
    return {
        "card": with_traceback(f"shop.CardDeclined: card {card} of customer-{n} was declined", "billing", "charge"),
        "timeout": f"the handler did not finish within {n + 1} s",
        "connection": with_traceback(
            f"httpx.ConnectError: [Errno 111] no connection to {ip}:{5000 + n} (caused by OSError: {ip})",
            "fetch",
            "get",
        ),
        "status": with_traceback(f"shop.ApiError: HTTP 429 for https://shop{n}.example/v{n}?id={uuid}", "fetch", "get"),
        "unavailable": with_traceback(f"shop.ApiError: HTTP 503 for https://a.example/{uuid}", "fetch", "get"),
        "unique": with_traceback(
            f'psycopg.errors.UniqueViolation: duplicate key value violates unique constraint "orders_number" {uuid}',
            "store",
            "save",
        ),
        "foreign key": with_traceback(
            f'psycopg.errors.UniqueViolation: duplicate key value violates unique constraint "orders_mail" {uuid}',
            "store",
            "save",
        ),
        "missing": with_traceback(f"KeyError: 'sku-{n}'", "price", "price_of"),
        "object": with_traceback(
            f"TypeError: cannot read <shop.Order object at {address}>, 'Ann {n}'", "price", "read"
        ),
        "mail": with_traceback(
            f"ValueError: no mailbox ann{n}@example.com, ids [{n}, {n + 1}, {n * 2}]", "mail", "send"
        ),
    }


def identify(engine: Engine, error: str, handler: str = "work") -> tuple[int, str | None, str, str | None]:
    [row] = engine.rows("select group_id, type, message, frame from rolecall.identify_error(%s, %s)", handler, error)
    return row


def test_ten_ways_to_fail_are_ten_groups(engine: Engine) -> None:
    found = {way: {identify(engine, errors(n)[way])[0] for n in range(1, 200)} for way in errors(1)}

    assert {way: len(ids) for way, ids in found.items()} == dict.fromkeys(errors(1), 1)
    assert len({group for ids in found.values() for group in ids}) == len(found)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("order 17 has 3 items", "order * has * items"),
        ("job 6ba7b810-9dad-11d1-80b4-00c04fd430c8 failed", "job * failed"),
        ("<Order object at 0x7f1f2c3d>", "<Order object at *>"),
        ("can't open 'a b.csv'", "can't open *"),
        ('relation "big_orders" of "Ann" is gone', 'relation "big_orders" of * is gone'),
        ("no route to 10.0.0.7:5432", "no route to *"),
        ("ids [1, 2, 3] of ann@example.com", "ids [*] of *"),
        ("Client error '404 Not Found' for url 'https://a.example/7'", "Client error 404 Not Found for url *"),
        ("HTTP 404 at 12:00", "HTTP 404 at *"),
        ("status code: 500", "status code: 500"),
        ("code 48213", "code *"),
        ("digest deadbeefdeadbeef", "digest *"),
        ("2026-11-27T10:00:00Z is over", "* is over"),
        ("", ""),
    ],
)
def test_values_in_a_message_are_replaced(engine: Engine, text: str, normal: str) -> None:
    assert identify(engine, f"shop.Failure: {text}")[1:3] == ("shop.Failure", normal)


def test_type_is_the_first_word_of_the_error(engine: Engine) -> None:
    assert identify(engine, "KeyError: 'a'")[1:3] == ("KeyError", "*")
    assert identify(engine, "shop.Odd")[1:3] == ("shop.Odd", "")
    assert identify(engine, "dependency failed: task 7")[1:3] == (None, "dependency failed: task *")


def test_last_line_of_a_bare_traceback_is_the_error(engine: Engine) -> None:
    error = with_traceback("ValueError: no 7", "billing", "charge").removeprefix("ValueError: no 7\n")

    assert identify(engine, error)[1:] == ("ValueError", "no *", "shop/billing.py in charge")


def test_frame_is_the_innermost_one_outside_of_libraries(engine: Engine) -> None:
    error = with_traceback("ValueError: no", "billing", "charge")

    assert identify(engine, error)[3] == "shop/billing.py in charge"


def test_frame_does_not_depend_on_its_line_and_folder(engine: Engine) -> None:
    one = with_traceback("ValueError: no", "billing", "charge", line=7, root="/releases/41")
    other = with_traceback("ValueError: no", "billing", "charge", line=9, root="/srv/shop")

    assert identify(engine, one) == identify(engine, other)


def test_frame_of_a_procedure_is_its_innermost_function(engine: Engine) -> None:
    error = "too much\nPL/pgSQL function shop.price(jsonb) line 3 at RAISE\nPL/pgSQL function shop.charge(jsonb) line 8"

    assert identify(engine, error)[3] == "shop.price"


def test_handlers_do_not_share_a_group(engine: Engine) -> None:
    assert identify(engine, "ValueError: no", "a")[0] != identify(engine, "ValueError: no", "b")[0]


def test_id_of_a_group_is_exact_in_json(engine: Engine) -> None:
    assert all(0 < identify(engine, f"E: {'x' * n}")[0] < 2**53 for n in range(50))
