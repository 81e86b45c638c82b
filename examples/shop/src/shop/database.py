"""SQLAlchemy sessions on asyncpg, through a PgBouncer in transaction mode."""

from __future__ import annotations

from uuid import uuid4

from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import NullPool

# The web application and the worker bind it when they start.
sessions: async_sessionmaker[AsyncSession] = async_sessionmaker(expire_on_commit=False)


def connect(database_url: str) -> None:
    """Bind the sessions to this database; connections are opened when they are needed."""
    sessions.configure(bind=make_engine(database_url))


def make_engine(database_url: str) -> AsyncEngine:
    """Create an engine from an address in the syntax of libpq and Rolecall: a URL, or words such as `host=...`.

    PgBouncer does the pooling. Two sessions may share one of its connections, so prepared statements get unique names
    and are not cached.
    """
    parts = {name: str(value) for name, value in conninfo_to_dict(database_url).items() if value is not None}
    url = URL.create(
        "postgresql+asyncpg",
        username=parts.get("user"),
        password=parts.get("password"),
        database=parts.get("dbname"),
        query={name: parts[name] for name in ("host", "port") if name in parts},
    )
    return create_async_engine(
        url,
        poolclass=NullPool,
        connect_args={
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,
            "prepared_statement_name_func": lambda: f"shop_{uuid4().hex}",
        },
    )
