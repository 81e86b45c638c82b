"""What a worker has for as long as it runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rolecall import Workplace
from shop.database import connect


@asynccontextmanager
async def resources(workplace: Workplace) -> AsyncGenerator[None]:
    """Let handlers' sessions lead to the worker's own database."""
    connect(workplace.dsn)
    yield
