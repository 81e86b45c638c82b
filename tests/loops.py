"""The event loop of the main thread between tests: there is none."""

from __future__ import annotations

import asyncio


def pytest_configure() -> None:
    """Prevent `asyncio.get_event_loop` from creating a loop.

    pytest-asyncio up to 1.3 calls it before each async test. The first test that calls `asyncio.run` would drop that
    loop without closing it, and the garbage collector would report it in any later test.
    """
    asyncio.set_event_loop(None)
