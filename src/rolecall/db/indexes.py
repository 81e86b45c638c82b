"""Statements that run outside of a transaction, and how `create index concurrently` is carried out.

On an empty table it becomes a plain `create index`. An invalid index of this name, left by a crash, is dropped first.
Postgres does not support it for partitioned tables: there, the parent's index is created first, then an index for
each partition, concurrently, which is attached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg
from psycopg.sql import SQL, Composable, Identifier

from rolecall.db.run import run
from rolecall.sql.statement import Statement, single

INDEX = re.compile(
    r"create\s+(?P<unique>unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(?P<name>\w+)\s+"
    r"on\s+(?P<schema>\w+)\.(?P<table>\w+)\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
CONCURRENTLY = re.compile(r"\bconcurrently\s+(if\s+not\s+exists\s+)?", re.IGNORECASE)
COMMENT = re.compile(r"^\s*--[^\n]*\n", re.MULTILINE)
LONGEST_NAME = 63

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement. If it runs `briefly`, others would queue behind it while it waits, so it gets a short lock
    timeout.
    """

    sql: str
    briefly: bool


class _Relation(NamedTuple):
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class _Index:
    name: str
    unique: bool
    schema: str
    table: str
    rest: str

    @property
    def parent(self) -> _Relation:
        return _Relation(self.schema, self.table)

    def create(self, name: str, table: _Relation, *, how: str = "", only: str = "") -> str:
        unique = SQL("unique " if self.unique else "")
        words = SQL("create {}index {}if not exists {} on {}{} ").format(
            unique, SQL(how), Identifier(name), SQL(only), Identifier(*table)
        )
        return f"{words.as_string(None)}{self.rest}"


def statements(sql: str) -> list[str]:
    """Split a file into its statements, each of which ends with a semicolon at the end of a line."""
    parts = re.split(r";[ \t]*(?:\n|$)", COMMENT.sub("", sql))
    return [part.strip() for part in parts if part.strip()]


def without_concurrently(sql: str) -> str:
    """Return the file for an empty database, in which one transaction can create everything."""
    return CONCURRENTLY.sub("", sql)


def pieces(conn: Connection, statement: str) -> Iterator[Piece]:
    """Yield the pieces of a statement. Run each one before the next is requested, because they depend on each
    other.
    """
    found = INDEX.fullmatch(statement)
    if found is None:
        yield Piece(statement, briefly="concurrently" not in statement.lower())
        return
    index = _Index(found["name"], bool(found["unique"]), found["schema"], found["table"], found["rest"])
    if run(conn, _is_empty(index)):
        yield Piece(index.create(index.name, index.parent), briefly=True)
    elif run(conn, _is_partitioned(index)):
        yield Piece(index.create(index.name, index.parent, only="only "), briefly=True)
        for oid, partition in run(conn, _without(index)):
            own = f"{partition.name}_{index.name}"
            if len(own.encode()) > LONGEST_NAME:
                own = f"{index.name[: LONGEST_NAME - len(str(oid)) - 1]}_{oid}"
            yield from _build(conn, index, own, partition)
            attach = SQL("alter index {} attach partition {}")
            names = Identifier(index.schema, index.name), Identifier(partition.schema, own)
            yield Piece(_text(attach.format(*names)), briefly=True)
    else:
        yield from _build(conn, index, index.name, index.parent)


def _build(conn: Connection, index: _Index, name: str, table: _Relation) -> Iterator[Piece]:
    if run(conn, _is_invalid(table.schema, name)):
        drop = SQL("drop index concurrently if exists {}").format(Identifier(table.schema, name))
        yield Piece(_text(drop), briefly=False)
    yield Piece(index.create(name, table, how="concurrently "), briefly=False)


def _text(sql: Composable) -> str:
    return sql.as_string(None)


def _qualify(index: _Index) -> str:
    return f"{index.schema}.{index.table}"


def _is_empty(index: _Index) -> Statement[bool]:
    table = Identifier(*index.parent)
    return Statement(query=_text(SQL("select not exists (select from {})").format(table)), read=single)


def _is_partitioned(index: _Index) -> Statement[bool]:
    query = "select relkind = 'p' from pg_class where oid = %s::regclass"
    return Statement(query=query, params=(_qualify(index),), read=single)


def _is_invalid(schema: str, name: str) -> Statement[bool]:
    query = (
        "select coalesce((select not indisvalid from pg_index"
        " where indexrelid = to_regclass(format('%%I.%%I', %s::text, %s::text))), false)"
    )
    return Statement(query=query, params=(schema, name), read=single)


def _without(index: _Index) -> Statement[list[tuple[int, _Relation]]]:
    """List the partitions that lack their part of this index."""
    query = (
        "select relid::oid, nspname::text, relname::text from pg_partition_tree(%s::regclass)"
        " join pg_class on pg_class.oid = relid join pg_namespace as space on space.oid = relnamespace"
        " where isleaf and not exists (select from pg_index join pg_inherits on inhrelid = indexrelid"
        " where indrelid = relid and inhparent = to_regclass(%s)) order by nspname, relname"
    )
    params = (_qualify(index), f"{index.schema}.{index.name}")
    return Statement(
        query=query,
        params=params,
        read=lambda rows: [(oid, _Relation(schema, name)) for oid, schema, name in rows],
    )
