"""The embedded server's databases belong to an owner who is not a superuser."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from rolecall.embedded.server import EmbeddedServer
from tests.embedded.helpers import ask, do


def test_owner_is_not_a_superuser(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        assert ask(
            server.dsn(), "select current_user || ' ' || rolsuper from pg_roles where rolname = current_user"
        ) == ("rolecall false")


def test_owner_cannot_run_programs(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server, pytest.raises(psycopg.errors.InsufficientPrivilege):
        do(server.dsn(), "copy (select 1) to program 'cat'")


def test_databases_belong_to_the_owner(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        owner = "select pg_get_userbyid(datdba) from pg_database where datname = current_database()"

        assert ask(server.dsn("another"), owner) == "rolecall"


def test_superuser_has_another_name_and_password(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        known = "select string_agg(rolname || ' ' || rolsuper, ', ' order by rolname) from pg_roles where rolcanlogin"

        assert ask(server.superuser_dsn(), known) == "rolecall false, rolecall_superuser true"
        assert server.superuser_dsn().split("@")[0].rpartition(":")[2] not in server.dsn()


def test_database_of_the_superuser_keeps_its_owner(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        do(server.superuser_dsn(), "create database his")

        with EmbeddedServer(tmp_path / "data"):
            owner_of_it = "select pg_get_userbyid(datdba) from pg_database where datname = 'his'"
            assert ask(server.dsn(), owner_of_it) == "rolecall_superuser"
