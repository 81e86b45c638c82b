"""The guide `sentry` works as described: Sentry's own client sends the events to a server of the test.

One process runs all tasks, without the libraries of this project that Sentry would import for its integrations.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from sentry_sdk.envelope import Envelope

from rolecall.testing import TestServer, clone
from tests.guides.blocks import blocks

# Importing them takes seconds of CPU, in this process and in that of `in_a_process`.
WITHOUT_LIBRARIES = """
import sys

for name in ("aiohttp", "celery", "django", "fastapi", "flask", "litestar", "redis", "rq", "sqlalchemy", "starlette"):
    sys.modules.setdefault(name, None)
"""
# Handlers besides the one of the guide.
MORE = """
@app.task(max_attempts=1)
def in_a_thread(name: str) -> None:
    raise LookupError(f"no address for {name}")


@app.task(max_attempts=1, process=True)
def in_a_process(name: str) -> None:
    raise LookupError(f"no address for {name}")


@app.task(max_attempts=1, timeout=1)
async def too_slow() -> None:
    await asyncio.Event().wait()


@app.task(max_attempts=2)
async def expected() -> None:
    raise Retry("not yet", after=0)
"""
RUN = """
import os
import sentry_sdk
from rolecall import Client
from rolecall.telemetry import Event, EventType
from rolecall.telemetry.events import SomeTask
from rolecall.testing import drain_sync
from shop import LostTasks, app, expected, greet, in_a_process, in_a_thread, too_slow

with Client(app=app) as client:
    for handler in (greet, in_a_thread, in_a_process):
        client.enqueue(handler, {"name": "Ada"})
    client.enqueue(too_slow)
    client.enqueue(expected)
drain_sync(app, os.environ["DATABASE_URL"], timeout=300)
LostTasks().emit(Event(type=EventType.JOB_REAPED, at=0, task=SomeTask(id=7, handler="greet", attempt=1)))
sentry_sdk.flush(60)
"""


@pytest.fixture(scope="module")
def events(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: TestServer, database_template: str
) -> Iterator[list[dict[str, Any]]]:
    """Run all tasks; return the events that Sentry received."""
    received: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            sent = [item.payload.json for item in Envelope.deserialize(body).items if item.type == "event"]
            received.extend(event for event in sent if event is not None)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Write nothing to stderr."""

    folder = tmp_path_factory.mktemp("sentry")
    (folder / "shop.py").write_text("\n\n".join([WITHOUT_LIBRARIES, blocks("sentry.md", "python")[0], MORE]))
    (folder / "run.py").write_text(RUN)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server,
        clone(postgres_server, database_template) as database,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://key@127.0.0.1:{server.server_address[1]}/1"
        environment = os.environ | {"DATABASE_URL": database, "SENTRY_DSN": address}
        subprocess.run([sys.executable, "run.py"], cwd=folder, env=environment, check=True)
        server.shutdown()
        yield received


def about(handler: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event.get("transaction") == handler]


@pytest.mark.parametrize("handler", ["greet", "in_a_thread", "in_a_process"])
def test_event_names_its_task_and_handler(events: list[dict[str, Any]], handler: str) -> None:
    [event] = about(handler, events)

    assert event["tags"].items() >= {"rolecall.handler": handler, "rolecall.attempt": "1"}.items()
    assert event["fingerprint"] == ["{{ default }}", handler]


@pytest.mark.parametrize("handler", ["greet", "in_a_thread"])
def test_error_of_a_handler_is_reported(events: list[dict[str, Any]], handler: str) -> None:
    [event] = about(handler, events)

    [*_, error] = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("LookupError", "no address for Ada")


def test_error_in_a_child_process_is_reported_as_text(events: list[dict[str, Any]]) -> None:
    [event] = about("in_a_process", events)

    [*_, error] = event["exception"]["values"]
    assert (error["type"], error["value"].split("\n")[0]) == ("RaisedElsewhere", "LookupError: no address for Ada")
    assert 'raise LookupError(f"no address for {name}")' in error["value"]


def test_report_has_the_frames_of_the_handler_without_its_variables(events: list[dict[str, Any]]) -> None:
    [event] = about("greet", events)

    frames = event["exception"]["values"][-1]["stacktrace"]["frames"]
    assert (frames[-1]["function"], frames[-1]["module"]) == ("greet", "shop")
    assert [frame for frame in frames if "vars" in frame] == []


def test_timeout_is_reported(events: list[dict[str, Any]]) -> None:
    [event] = about("too_slow", events)

    assert event["message"] == "too_slow exceeded its timeout"


def test_expected_retry_is_not_reported(events: list[dict[str, Any]]) -> None:
    assert about("expected", events) == []


def test_task_of_a_dead_worker_is_reported(events: list[dict[str, Any]]) -> None:
    assert [event["message"] for event in events if "rescued" in event.get("message", "")] == [
        "Task 7 (greet) was rescued: the worker of attempt 1 is silent or dead"
    ]
