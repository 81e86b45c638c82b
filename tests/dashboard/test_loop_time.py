"""No page holds the event loop for long: other requests of the process wait meanwhile.

The time is the CPU time of the loop's thread in one callback, so other load of the machine does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import thread_time

import httpx2
import pytest

from tests.dashboard.crowd import declare_roles
from tests.sql.costs import fill
from tests.sql.engine import Engine
from tests.sql.families import spread

LONGEST = 0.02
TRIES = 3


@contextmanager
def longest_callback(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Record the seconds of the longest callback of the loop."""
    longest = [0.0]
    run = asyncio.Handle._run

    def measure(handle: asyncio.Handle) -> None:
        began = thread_time()
        run(handle)
        longest[0] = max(longest[0], thread_time() - began)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", measure)
        yield longest


async def test_pages_hold_the_loop_only_briefly(
    pool: Engine, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = pool.enqueue("sums", handler="add")
    spread(pool, pool.claim_one(), *[{"role": "sums", "handler": "stumble"}] * 2_000)
    declare_roles(pool, 200)
    fill(pool, 200, role="letters", handler="post", payload={"text": "x" * 2_000})
    measured = {}
    for path in ("/", "/roles", "/tasks", f"/tasks/{top}", f"/tasks/{top}/tree", "/handlers/stumble", "/capacity"):
        seconds = []
        for _ in range(TRIES):
            with longest_callback(monkeypatch) as longest:
                assert (await http.get(path, headers={"accept": "text/html"})).status_code == 200, path
            seconds.append(longest[0])
        measured[path] = median(seconds)  # the first request imports modules, and garbage may be collected
    assert {path: seconds for path, seconds in measured.items() if seconds > LONGEST} == {}
