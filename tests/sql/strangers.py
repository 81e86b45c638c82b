"""Relations of other programs in the same database, with names that break careless catalog queries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product

import psycopg
from psycopg.sql import SQL, Composed, Identifier

SCHEMAS = (
    "public",
    "rolecall2",
    "Rolecall",
    " rolecall",
    "rolecall.finished_tasks",
    "rolecall_20260101",
    'a "quoted" 100% schema',
    "schéma_20260101",
)
# Postgres truncates names at 63 bytes.
LONGEST = "ü" * 27 + "_99999999"
NAMES = (
    # An index of every Django project with django.contrib.auth.
    "auth_user_groups_group_id_97559544",
    "finished_tasks_20260230",
    "finished_tasks_99999999",
    "finished_tasks_20260101",
    "rolecall.finished_tasks_20260101",
    "task_events_00000000",
    "task_events_20260101",
    "finished_tasks_default",
    "tasks_by_id_20261399",
    "rolecall_roles_31022026",
    "sales-2026-99-99_20269999",
    'he said "drop" 12345678',
    "it's_99999999",
    "100%s_%I_%L_88888888",
    "a.b.c_77777777",
    "back\\slash_66666666",
    "  _55555555",
    "новый_44444444",
    "表_33333333",
    "select_22222222",
    "$1_11111111",
    "{}_99999990",
    "_20260132",
    "20260101",
    LONGEST,
)
MOST_RELATIONS = 200
# Each creates one relation. Those without storage are more frequent, because test databases are copied by file.
FORMS = (
    "create view {name} as select 1 as id",
    "create type {name} as (id int)",
    "create index {name} on {base} (id)",
    "create view {name} as select 'infinity'::timestamptz as finished_at",
    "create sequence {name}",
    "create table {name} (id int) partition by range (id)",
    "create view {name} as select 1 as id",
    "create table {name} (id int)",
)
# Bounds of all kinds; none of them must be read as the day of one of our partitions.
PARTITIONS = (
    "create table public.by_number (id int) partition by range (id)",
    "create table public.by_number_20260101 partition of public.by_number for values from (1) to (20260101)",
    "create table public.by_number_low partition of public.by_number for values from (minvalue) to (1)",
    "create table public.by_text (id text) partition by range (id)",
    "create table public.by_text_20261399 partition of public.by_text for values from ('2026-13-99') to ('z'') TO (''x')",
    "create table public.by_list (id text) partition by list (id)",
    "create table public.by_list_1 partition of public.by_list for values in ('FOR VALUES FROM (''x'') TO (''y'')')",
    "create table public.by_hash (id int) partition by hash (id)",
    "create table public.by_hash_99999999 partition of public.by_hash for values with (modulus 1, remainder 0)",
    "create table public.child_20260231 () inherits (public.strange_base)",
)


def add_strangers(connection: psycopg.Connection[object]) -> None:
    """Create 200 relations outside schema rolecall, and analyze them."""
    for statement in _statements():
        connection.execute(statement)
    connection.execute("analyze pg_catalog.pg_class, pg_catalog.pg_inherits")


def _statements() -> Iterator[SQL | Composed]:
    for schema in SCHEMAS:
        yield SQL("create schema if not exists {}").format(Identifier(schema))
        yield SQL("create table {} (id int)").format(Identifier(schema, "strange_base"))
    yield from map(SQL, PARTITIONS)
    left = MOST_RELATIONS - len(SCHEMAS) - len(PARTITIONS)
    forms = cycle(FORMS)
    for schema, name in list(product(SCHEMAS, NAMES))[:left]:
        names = {"name": Identifier(schema, name), "base": Identifier(schema, "strange_base")}
        form = next(forms)
        if form.startswith("create index"):  # An index is in the schema of its table.
            names["name"] = Identifier(name)
        yield SQL(form).format(**names)
