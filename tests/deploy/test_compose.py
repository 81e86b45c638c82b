"""The services of deploy/app/compose.yaml: how they are locked down, and that their database logins suffice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.deploy.test_templates import APP, COMPOSE, ROOT
from tests.servers import found_servers
from tools.debian import cluster, environment

SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PASSWORDS = {"OWNER_PASSWORD": "of-owner", "WORK_PASSWORD": "of-work", "SERVE_PASSWORD": "of-serve"}
LOGIN = re.compile(r"postgresql://(\w+):\$\{(\w+)\}@postgres:5432/(\w+)")


@pytest.fixture(scope="module")
def logins() -> Iterator[dict[str, str]]:
    """The connection string of each service, on a server on which Postgres's image has run logins.sql."""
    found = found_servers()
    with cluster(found) as superuser:
        subprocess.run(
            [found.postgres / "psql", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-f", APP / "logins.sql", superuser],
            env={**environment(found), **PASSWORDS},
            check=True,
            capture_output=True,
            timeout=60,
        )
        yield {
            name: make_conninfo(superuser, user=user, password=PASSWORDS[password], dbname=database)
            for name, service in SERVICES.items()
            for user, password, database in LOGIN.findall(service["environment"].get("DATABASE_URL", ""))
        }


def rolecall(*words: str, database: str) -> str:
    command = [str(Path(sys.executable).with_name("rolecall")), *words]
    result = {**os.environ, "DATABASE_URL": database}
    return subprocess.check_output(command, cwd=ROOT, env=result, text=True, timeout=120)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_minimal_privileges(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"]


def test_each_service_knows_only_the_password_of_its_own_login() -> None:
    users = {name: LOGIN.findall(service["environment"].get("DATABASE_URL", "")) for name, service in SERVICES.items()}

    assert users == {
        "postgres": [],
        "migrate": [("myapp_owner", "OWNER_PASSWORD", "myapp")],
        "worker": [("myapp_work", "WORK_PASSWORD", "myapp")],
        "serve": [("myapp_serve", "SERVE_PASSWORD", "myapp")],
    }
    assert [name for name, service in SERVICES.items() if "SUPERUSER_PASSWORD" in str(service)] == ["postgres"]


def test_postgres_is_reachable_only_on_an_internal_network() -> None:
    [network] = SERVICES["postgres"]["networks"]

    assert COMPOSE["networks"][network] == {"internal": True}
    assert all(network in service["networks"] for service in SERVICES.values())
    assert "ports" not in SERVICES["postgres"]


def test_no_login_of_a_service_is_a_superuser_or_creates_roles(logins: dict[str, str]) -> None:
    with psycopg.connect(logins["migrate"]) as connection:
        rights = connection.execute(
            "select rolname, rolsuper or rolcreaterole or rolcreatedb or rolbypassrls from pg_roles where rolcanlogin"
        ).fetchall()

    assert set(rights) == {("postgres", True), ("myapp_owner", False), ("myapp_work", False), ("myapp_serve", False)}


def test_logins_suffice_to_migrate_to_work_and_to_serve(logins: dict[str, str]) -> None:
    """The migration may be repeated, as it is at every `docker compose up`."""
    app = ["--app", "tests.deploy.confined:app"]
    for _ in range(2):
        rolecall("migrate", "--roles", *app, database=logins["migrate"])
    rolecall("keys", "create", "operator", "--scope", "admin", database=logins["serve"])
    rolecall("worker", *app, "--until-idle", database=logins["worker"])

    rolecall("enqueue", "compute", "{}", database=logins["serve"])
    rolecall("worker", *app, "--until-idle", database=logins["worker"])

    assert "completed" in rolecall("tasks", "list", database=logins["serve"])
