"""Errors of tasks on pages, and the form for a task like another one."""

from __future__ import annotations

import httpx2

from rolecall.web.dashboard.presenters.errors import error_blocks
from tests.dashboard.reading import shown
from tests.sql.engine import Engine

TEXT = """E: no price (caused by OSError: gone)
Traceback (most recent call last):
  File "/app/shop.py", line 3, in charge
    ask()
  File "/venv/lib/python3.12/site-packages/http/client.py", line 7, in ask
    send()
    ^^^^^^
  File "/usr/lib/python3.12/socket.py", line 9, in send
    raise OSError
OSError: gone

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/shop.py", line 5, in charge
    raise E
E: no price"""


def test_frames_of_libraries_are_blocks_of_their_own() -> None:
    blocks = error_blocks(TEXT)

    assert [block.frames for block in blocks] == [0, 2, 0]
    assert blocks[1].text.splitlines()[0].startswith('  File "/venv')
    assert blocks[1].text.endswith("raise OSError")
    assert "\n".join(block.text for block in blocks) == TEXT


def test_frames_in_exception_groups_are_recognized() -> None:
    group = """  + Exception Group Traceback (most recent call last):
  |   File "/app/shop.py", line 3, in charge
  |     run()
  |   File "<frozen runpy>", line 7, in run
  |     go()
  | ExceptionGroup: two (1 sub-exception)"""

    assert [block.frames for block in error_blocks(group)] == [0, 1, 0]


async def test_page_folds_frames_of_libraries_and_long_errors(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", max_attempts=1)
    pool.fail(pool.claim_one(), TEXT)
    long = pool.enqueue("sums", handler="add", max_attempts=1)
    pool.fail(pool.claim_one(), "x" * 2_000)

    error = (await shown(http, f"/tasks/{task}")).one("details", class_="error")
    longer = (await shown(http, f"/tasks/{long}")).one("details", class_="error")

    assert [each.text for each in error.all("summary")] == ["E: no price (caused by OSError: gone)", "2 library frames"]
    assert "x" * 2_000 in longer.text


async def test_form_is_filled_from_a_task(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.declare(handlers=[{"name": "count", "role": "sums", "signature": {"type": "object", "properties": {"a": {"type": "integer"}, "word": {"type": "string"}, "token": {"type": "string", "writeOnly": True}}}}])  # fmt: skip
    payload = {"a": 7, "word": "<b>", "token": "s3cr3t"}
    task = pool.enqueue("sums", handler="count", payload=payload, priority=3, key="ledger", timeout=90)

    assert (await shown(http, f"/tasks/{task}")).all("a", href=f"/jobs/count?like={task}")
    page = await shown(http, f"/jobs/count?like={task}")

    values = {
        each.attributes["name"]: each.attributes.get("value") for each in page.all("input") if "name" in each.attributes
    }
    assert (values["payload.a"], values["payload.word"], values["payload.token"] or "") == ("7", "<b>", "")
    assert (values["priority"], values["key"], values["timeout"]) == ("3", "ledger", "90")
    assert "s3cr3t" not in page.text
