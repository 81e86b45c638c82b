"""`rolecall serve`, and the API of `rolecall up`, as real processes over real HTTP."""

from __future__ import annotations

import signal
import socket
import sys
import time
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import psutil
import psycopg
import pytest

from rolecall.cli import sockets
from rolecall.config import HttpSettings
from rolecall.testing import url_of as dsn_as_url
from tests.cli.attackers import open_to
from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended, served, until

GRACE = 8.0  # seconds: less than the time limit of processes that do not exit


def url_of(process: Any) -> str:
    return str(document(process)["http"])


def served_by(up: Any) -> list[int]:
    """Return the processes that serve the API for `up`."""
    return [child.pid for child in psutil.Process(up.pid).children() if "serve" in child.cmdline()]


def test_api_responds_and_exits_cleanly(spawn: Spawn, dsn: str) -> None:
    server = spawn("serve", "--app", "shop:app", "--port", "0", "--json", DATABASE_URL=dsn)
    api = served(server)

    until(lambda: httpx2.get(f"{api.url}/readyz", timeout=30).json() == {"status": "ok"}, "it is ready")
    roles = api.get("/api/roles")
    server.send_signal(signal.SIGTERM)

    assert [role["name"] for role in roles.json()] == ["sums"]
    assert ended(server).code == 0


def test_proxy_may_strip_a_path_prefix(spawn: Spawn, dsn: str) -> None:
    server = spawn("serve", "--port", "0", "--json", DATABASE_URL=dsn, ROLECALL_ROOT_PATH="/queue/")

    page = served(server).get("/admin/workers").text

    assert 'href="/queue/tasks"' in page
    assert 'data-stream="/queue/api/live"' in page


def test_pools_are_served_and_maintained_while_one_of_them_is_away(spawn: Spawn, dsn: str) -> None:
    pools = f"billing={dsn_as_url(dsn)} gone=postgresql://someone@127.0.0.1:1/nothing"
    server = spawn(
        "serve", "--app", "shop:app", "--port", "0", "--json", ROLECALL_POOLS=pools, ROLECALL_ROOT_PATH="/queue"
    )
    api = served(server)

    until(lambda: [role["name"] for role in api.get("/pools/billing/api/roles").json()] == ["sums"], "it is declared")
    until(lambda: api.get("/api/pools").json()[1]["away"] == "the database does not respond", "it is shown as away")
    page = api.get("/").text
    server.send_signal(signal.SIGTERM)

    assert 'href="/queue/pools/billing/"' in page
    assert ended(server).code == 0


def test_lost_tasks_and_due_schedules_are_handled_before_the_first_response(
    spawn: Spawn, cli: Run, dsn: str, folder: Path
) -> None:
    """Lost tasks are rescued, default schedules created and due ones fired before the first response."""
    with (folder / "shop.py").open("a") as shop:
        shop.write('app.schedule("hourly", "add", every=3600, payload={"a": 1, "b": 1})\n')
    lost = claimed_an_hour_ago(dsn)

    server = spawn("serve", "--app", "shop:app", "--port", "0", "--json", DATABASE_URL=dsn)
    httpx2.get(f"{url_of(server)}/healthz", timeout=30)

    tasks = {task["id"]: task["state"] for task in cli("tasks", "list", "--json").json["items"]}
    assert tasks.pop(lost) == "pending"
    assert list(tasks.values()) == ["pending"]


def claimed_an_hour_ago(dsn: str) -> int:
    """Store a task that a worker claimed and never finished; return its id."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select set_config('rolecall.fake_now', (now() - interval '1 hour')::text, false)")
        connection.execute("select rolecall.enqueue('sums', '{\"a\": 1, \"b\": 2}', 'add')")
        connection.execute("select rolecall.register_worker('wilma', '{}', '{add}', 1, 'host', 1, '1')")
        query = "select id from rolecall.claim((select max(id) from rolecall.workers), '{}', '{add}', 1)"
        [(task_id,)] = connection.execute(query).fetchall()
    return int(task_id)


def test_unmigrated_database_is_rejected(execute: Run, database: str, postgres_server: object) -> None:
    done = execute("serve", "--port", "0", DATABASE_URL=f"{database} dbname=postgres")

    assert done.code == 7


def test_loopback_address_is_served_only_under_its_own_name(spawn: Spawn, dsn: str) -> None:
    server = spawn("serve", "--host", "127.0.0.2", "--port", "0", "--json", DATABASE_URL=dsn)
    api = served(server)

    assert api.url.startswith("http://127.0.0.2:")
    assert api.get("/api/me").status_code == 200
    assert api.get("/api/me", host="127.0.0.3").status_code == 421


def test_port_in_use_is_rejected_and_named(bare: Run, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = bare("serve", "--port", port, "--database-url", "postgresql://nobody@127.0.0.1:1/none")

    assert done.code == 2
    assert f"127.0.0.1:{port}" in done.err


def test_missing_extra_is_reported_with_installation_advice(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "limits", None)

    done = bare("serve")

    assert done.code == 2
    assert "rolecall[web]" in done.err
    assert "limits is missing" in done.err


def test_up_serves_the_api_and_restarts_it_when_it_dies(spawn: Spawn, dsn: str, cli: Run) -> None:
    up = spawn("up", "--app", "shop:app", "--http", "127.0.0.1:0", "--json", DATABASE_URL=dsn)
    url = url_of(up)
    until(lambda: httpx2.get(f"{url}/readyz", timeout=30).is_success, "it is ready")
    until(lambda: len(cli("workers", "list", "--json").json) == 1, "its worker is registered")
    [worker] = cli("workers", "list", "--json").json
    [first] = served_by(up)

    psutil.Process(first).kill()
    until(lambda: httpx2.get(f"{url}/readyz", timeout=30).is_success, "another one is ready")

    assert served_by(up) != [first]
    assert [known["id"] for known in cli("workers", "list", "--json").json] == [worker["id"]]
    up.send_signal(signal.SIGTERM)
    assert ended(up).code == 0
    assert not psutil.pid_exists(first)


def test_up_uses_any_free_port_if_the_default_is_taken(spawn: Spawn, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROLECALL_HTTP")
    with closing(sockets.listen(HttpSettings())) as taken:  # the default port, if it was free
        up = spawn("up", "--json", DATABASE_URL=dsn)
        url = url_of(up)
        assert not url.endswith(f":{taken.getsockname()[1]}")

    assert httpx2.get(f"{url}/healthz", timeout=30).status_code == 200
    up.send_signal(signal.SIGTERM)
    assert ended(up).code == 0


STREAM = """
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from rolecall.web import Reads
from rolecall.web.state import state_of

router = APIRouter()


@router.get("/api/days")
async def days(request: Request, _: Reads) -> StreamingResponse:
    async def chunks():
        yield b"begun"
        await state_of(request).closing.wait()
        yield b"ended"

    return StreamingResponse(chunks())


app.mount(router)
"""


def test_stop_ends_open_streams_without_waiting_for_the_grace_period(spawn: Spawn, dsn: str, folder: Path) -> None:
    with (folder / "shop.py").open("a") as shop:
        shop.write(STREAM)
    server = spawn("serve", "--app", "shop:app", "--port", "0", "--json", DATABASE_URL=dsn)

    api = served(server)

    with httpx2.stream("GET", f"{api.url}/api/days", headers=api.headers, timeout=30) as answer:
        parts = answer.iter_raw()
        assert next(parts) == b"begun"
        chunks = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert next(parts) == b"ended"
        assert time.monotonic() - chunks < GRACE

    end = ended(server)
    assert end.code == 0
    assert "shutdown exceeded" not in end.err


BLOCK = """
import time
from pathlib import Path

from fastapi import APIRouter
from rolecall.web import Reads

router = APIRouter()


@router.get("/api/block")
async def block(_: Reads) -> None:
    Path("blocked").touch()
    while not Path("go").exists():
        time.sleep(0.01)


app.mount(router)
"""


def test_maintenance_continues_while_a_request_blocks_all_others(
    spawn: Spawn, cli: Run, dsn: str, folder: Path
) -> None:
    with (folder / "shop.py").open("a") as shop:
        shop.write(BLOCK)
    server = spawn("serve", "--app", "shop:app", "--port", "0", "--json", DATABASE_URL=dsn)
    api = served(server)
    blocking = Thread(target=lambda: httpx2.get(f"{api.url}/api/block", headers=api.headers, timeout=120))
    blocking.start()
    until((folder / "blocked").exists, "a request blocks the loop")

    lost = claimed_an_hour_ago(dsn)
    until(lambda: cli("tasks", "show", lost, "--json").json["task"]["state"] == "pending", "the lost task is rescued")
    with open_to(api.url) as other:
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(1)

    (folder / "go").touch()
    blocking.join()
