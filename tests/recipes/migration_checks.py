"""The migration of `migration.diff`. `test_recipes.py` runs this in the changed copy."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib import import_module
from importlib.resources import as_file
from pathlib import Path

import psycopg
import pytest

from rolecall.db.migrations import ROLECALL
from rolecall.db.migrator import migrate
from rolecall.testing import TestServer, clone, template

REMARK = "select count(*) from pg_attribute where attrelid = 'rolecall.tasks'::regclass and attname = 'remark'"


def test_new_database_has_the_column(connection: psycopg.Connection) -> None:
    assert connection.execute(REMARK).fetchall() == [(1,)]


def test_database_of_the_earlier_release_gets_the_column(postgres_server: TestServer, tmp_path: Path) -> None:
    with as_file(ROLECALL.folder / "0001_schema.sql") as first:
        shutil.copy(first, tmp_path)
    with (
        template(postgres_server, ()) as name,
        clone(postgres_server, name) as dsn,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        migrate(connection, replace(ROLECALL, folder=tmp_path))
        assert connection.execute(REMARK).fetchall() == [(0,)]

        assert migrate(connection) == ["0002_remark"]
        assert connection.execute(REMARK).fetchall() == [(1,)]


def test_last_migration_of_django_names_the_last_step() -> None:
    pytest.importorskip("django")
    last = import_module("rolecall.django.migrations.0002_remark").Migration

    assert [each.step for each in last.operations] == [ROLECALL.read().numbered[-1].label]
