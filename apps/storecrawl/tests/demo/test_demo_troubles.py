"""`storecrawl demo --once` with a failing, foreign or empty upstream."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from .conftest import DemoFolder

NOTHING = json.dumps({"data": {"getAllCitiesByState": [], "filteredDispensaries": []}}).encode()


class _Desert(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(NOTHING)))
        self.end_headers()
        self.wfile.write(NOTHING)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def desert() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Desert) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def _separate_upstream(folder: Path, *flags: str) -> Iterator[str]:
    command = [sys.executable, "-m", "storecrawl.demo.upstream", *flags]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def test_every_store_is_refreshed_despite_a_high_failure_rate(demo: DemoFolder, database: str) -> None:
    outcome = demo.run(
        "--once",
        "--json",
        "--no-api",
        "--stores",
        "4",
        "--failure-rate",
        "0.3",
        "--platforms",
        "dutchie",
        DATABASE_URL=database,
    )

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.summary["stores"] == 4
    assert outcome.summary["tasks"]["failed"] == 0


def test_upstream_without_stores_fails_the_cycle_and_is_reported(demo: DemoFolder, desert: str, database: str) -> None:
    outcome = demo.run("--once", "--json", "--no-api", "--upstream", desert, "--processes", "1", DATABASE_URL=database)

    assert outcome.code == 1
    assert outcome.summary["stores"] == 0
    assert outcome.err == "storecrawl: no stores were found\n"


def test_given_upstream_and_database_are_used_and_tasks_of_other_apps_are_untouched(
    demo: DemoFolder, database: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    roles, handlers = '[{"name": "mail"}]', '[{"name": "greet", "role": "mail"}]'
    connection.execute("select rolecall.declare(%s, %s)", (roles, handlers))
    connection.execute("select rolecall.enqueue('mail', '{}', 'greet')")

    with _separate_upstream(tmp_path, "--stores", "2", "--menu-median", "30") as url:
        outcome = demo.run("--once", "--json", "--no-api", "--upstream", url, "--processes", "1", DATABASE_URL=database)

    assert (outcome.code, outcome.summary["stores"], outcome.summary["tasks"]["pending"]) == (0, 2, 0)
    row = connection.execute("select count(*) from storecrawl.payloads where applied_at is not null").fetchone()
    assert row == (2,)
    # It starts neither an upstream, nor a database, nor (without an API) a server.
    assert not [name for name in ("upstream.log", "postgres", "api.log") if (demo.data / name).exists()]
    assert outcome.summary["api"] is None
