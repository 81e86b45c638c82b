"""Resources that a worker has for as long as it runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rolecall import Workplace
from shop.database import connect


@asynccontextmanager
async def resources(workplace: Workplace) -> AsyncGenerator[None]:
    """Bind the handlers' sessions to the worker's database."""
    connect(workplace.dsn)
    yield
