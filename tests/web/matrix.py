"""Requests every route of an application with different rights, and reports deviations from its table.

A table has one line per route: `METHOD PATH WHO`. WHO is the least right that is needed: open (no
authentication), known (any authenticated caller), or a scope.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall.web.dependencies import iter_routes

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# The needs that each identity meets. A reader is not an owner: `read` does not enqueue, not even tasks of its own.
IDENTITIES = {
    "nobody": {"open"},
    "own": {"open", "known", "own"},
    "read": {"open", "known", "read"},
    "operate": {"open", "known", "own", "read", "operate"},
    "admin": {"open", "known", "own", "read", "operate", "admin"},
}
PARAMETER = re.compile(r"\{\w+(:\w+)?\}")
# Pages are excluded: they ignore unknown parameters, and show the filters that they apply.
NO_PAGES = ("/api/", "/healthz", "/metrics", "/readyz", "/openapi.json", "/status")
REFUSED = 422
NOBODYS_ID = "987654321"
PATIENCE = 40.0


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A line of a table."""

    path: str
    method: str
    needs: str


def read_table(file: Path) -> list[Entry]:
    lines = [line.split() for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return [Entry(path, method, needs) for method, path, needs in lines]


def routes_of(application: Any) -> set[tuple[str, str]]:
    """Return every method and path that is served."""
    routes = iter_routes(application.routes)
    served = {(method, str(route.path)) for route in routes for method in route.methods or ()}
    return {(method, path) for method, path in served if method != "HEAD"}


async def departures(application: Any, table: list[Entry], identity: str, headers: dict[str, str]) -> list[str]:
    """Request every route of the table; report those that admit or reject the wrong callers."""
    wrong = []
    for entry in table:
        status = await status_of(application, entry.method, PARAMETER.sub(NOBODYS_ID, entry.path), headers)
        wanted = _wanted(entry.needs, identity)
        if (status if status in {401, 403} else 200) != wanted:
            wrong.append(f"{entry.method} {entry.path} as {identity}: {status}, not {wanted}")
    return wrong


async def other_methods(application: Any, table: list[Entry]) -> list[str]:
    """Request every path, without authentication, by each unsupported method; report those that do something."""
    known = {(entry.method, entry.path) for entry in table}
    paths = {entry.path for entry in table}
    routes = [(method, path) for path in sorted(paths) for method in METHODS if (method, path) not in known]
    return [
        f"{method} {path}: {status}"
        for method, path in routes
        if (status := await status_of(application, method, PARAMETER.sub(NOBODYS_ID, path), {})) not in {401, 404, 405}
    ]


async def passed_over(application: Any, headers: dict[str, str]) -> list[str]:
    """Request every route of the API with an unknown query parameter; report those that do not reject it."""
    routes = [(method, path) for method, path in sorted(routes_of(application)) if path.startswith(NO_PAGES)]
    return [
        f"{method} {path}: {status}"
        for method, path in routes
        if (status := await status_of(application, method, PARAMETER.sub(NOBODYS_ID, path), headers, b"nonsense=1"))
        != REFUSED
    ]


async def status_of(application: Any, method: str, path: str, headers: dict[str, str], query: bytes = b"") -> int:
    """Return the status of a response without waiting for its end: streams have none. A login page counts as 401."""
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def receive() -> dict[str, object]:
        if bodies:
            return bodies.pop()
        await asyncio.sleep(PATIENCE)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start" and not started.done():
            started.set_result(_meaning(message["status"], dict(message["headers"])))

    bodies: list[dict[str, object]] = [{"type": "http.request", "body": b"", "more_body": False}]
    asking = asyncio.create_task(application(_scope(method, path, headers, query), receive, send))
    await asyncio.wait({asking, started}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    if not asking.done():
        asking.cancel()
    await asyncio.wait({asking})
    return started.result()


def _meaning(status: int, headers: dict[bytes, bytes]) -> int:
    return 401 if status == 303 and headers[b"location"].startswith(b"/login") else status


def _scope(method: str, path: str, headers: dict[str, str], query: bytes) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": list(_raw({"host": "rolecall.test", **headers})),
        "client": ("192.0.2.1", 1),
        "server": ("rolecall.test", 80),
    }


def _raw(headers: dict[str, str]) -> Iterator[tuple[bytes, bytes]]:
    return ((name.encode(), value.encode()) for name, value in headers.items())


def _wanted(needs: str, identity: str) -> int:
    if needs in IDENTITIES[identity]:
        return 200
    return 401 if identity == "nobody" else 403
