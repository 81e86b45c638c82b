"""A small package with migrations, which tests change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from rolecall.db.migrations import Migrations

Connection = psycopg.Connection[Any]


def make_shop(root: Path) -> Migrations:
    """Create two numbered files, a function and a view that uses it."""
    (root / "migrations").mkdir()
    for folder in ("public", "internal"):
        (root / "functions" / folder).mkdir(parents=True)
    write(root, "migrations/0001_begin.sql", "create schema shop; create table shop.a (n int);")
    write(root, "migrations/0002_go_on.sql", "-- breaking: no\nalter table shop.a add m int;")
    write(root, "functions/public/b.sql", "create or replace view shop.v as select shop.one() as one;")
    write(root, "functions/internal/z.sql", function("one", "1"))
    return Migrations(name="shop", folder=root / "migrations", functions=root / "functions")


def write(root: Path, place: str, sql: str) -> None:
    (root / place).write_text(sql)


def function(name: str, value: str) -> str:
    return f"create or replace function shop.{name}() returns int language sql as 'select {value}';"
