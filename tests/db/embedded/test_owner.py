"""Ownership of databases, and the upgrade from a release whose owner was the superuser."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.db.embedded import cluster, owner, start
from rolecall.db.embedded.connection import OWNER, Address, Login
from rolecall.db.embedded.errors import StillInUse
from rolecall.db.embedded.home import Home
from rolecall.db.embedded.server import EmbeddedServer
from rolecall.db.migrator import migrate
from tests.db.embedded.helpers import ask, do, stop_leftovers

OF_A_USER = """\
create schema shop;
create table shop.orders (id bigserial primary key, number int generated always as identity, note text);
create view shop.notes as select note from shop.orders;
create materialized view shop.copies as select note from shop.orders;
create sequence shop.numbers;
create type shop.mood as enum ('good', 'bad');
create type shop.pair as (one int, other int);
create domain shop.positive as int check (value > 0);
create function shop.twice(int) returns int language sql return 2 * $1;
create procedure shop.nothing() language sql as 'select 1';
create aggregate shop.total(int) (sfunc = int4pl, stype = int);
create extension pg_trgm;
select lo_from_bytea(4711, 'abc');
insert into shop.orders (note) values ('of the release before');
"""
NOT_THE_OWNERS = """\
with things as (
    select classid, objid, format('%s', pg_describe_object(classid, objid, 0)) as name from (
        select 'pg_class'::regclass as classid, oid as objid, relowner as owner from pg_class where relkind <> 't'
        union all select 'pg_proc'::regclass, oid, proowner from pg_proc
        union all select 'pg_type'::regclass, oid, typowner from pg_type
        union all select 'pg_namespace'::regclass, oid, nspowner from pg_namespace
        union all select 'pg_largeobject'::regclass, oid, lomowner from pg_largeobject_metadata
    ) as all_things
    where owner <> 'rolecall'::regrole and objid >= 16384
)
select coalesce(string_agg(name, ', '), '') from things
where name not like '%pg_toast%'
    and not exists (select from pg_depend where pg_depend.objid = things.objid and deptype = 'e')
    and not exists (
        select from pg_depend as part join pg_depend as whole on whole.objid = part.refobjid and whole.deptype = 'e'
        where part.objid = things.objid and part.deptype = 'i'
    )
"""


@dataclass(frozen=True, slots=True)
class Before:
    """A data directory of the previous release, running or not."""

    folder: Path

    def connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        """Connect as the previous release does."""
        home = Home.under(self.folder)
        address = Address(home.folder, home.last_port() or 0)
        return connect(address.tcp_dsn(Login(OWNER, home.password()), database), "before")


@pytest.fixture(scope="session")
def made_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory of the previous release: a superuser as the only user, and no socket."""
    folder = tmp_path_factory.mktemp("before") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "SUPERUSER", OWNER)
        patch.setattr(Home, "make_superuser_password", lambda _: None)
        patch.setattr(Home, "superuser_password", Home.password)
        as_before(patch)
        with EmbeddedServer(folder):
            with Before(folder).connect("postgres") as connection:
                connection.execute("create database rolecall")
                connection.execute("create database nobodys")
            with Before(folder).connect("rolecall") as connection:
                migrate(connection)
                connection.execute(OF_A_USER.encode())
    yield folder
    stop_leftovers(folder)


def as_before(patch: pytest.MonkeyPatch) -> None:
    """Start servers as the previous release did, and require only that they answer."""
    patch.setattr(start, "make_way_for_socket", lambda *_: False)
    patch.setattr(start, "admit_owner", lambda *_: None)


@pytest.fixture
def before(made_before: Path, tmp_path: Path) -> Iterator[Before]:
    folder = tmp_path / "data"
    subprocess.run(["cp", "-a", str(made_before), str(folder)], check=True)
    yield Before(folder)
    stop_leftovers(folder)


def test_the_owner_is_no_superuser(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        assert ask(
            server.dsn(), "select current_user || ' ' || rolsuper from pg_roles where rolname = current_user"
        ) == ("rolecall false")


def test_the_owner_runs_no_programs(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server, pytest.raises(psycopg.errors.InsufficientPrivilege):
        do(server.dsn(), "copy (select 1) to program 'cat'")


def test_a_database_belongs_to_the_owner(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        owner = "select pg_get_userbyid(datdba) from pg_database where datname = current_database()"

        assert ask(server.dsn("another"), owner) == "rolecall"


def test_a_data_directory_of_the_release_before_opens_with_its_rows(before: Before) -> None:
    with EmbeddedServer(before.folder) as server:
        assert ask(server.dsn(), "select note from shop.orders") == "of the release before"
        assert ask(server.dsn(), "select lo_get(4711)") == b"abc"


def test_what_was_in_a_database_of_the_release_before_is_the_owners(before: Before) -> None:
    with EmbeddedServer(before.folder) as server:
        assert ask(server.dsn(), NOT_THE_OWNERS) == ""
        assert ask(server.dsn("nobodys"), NOT_THE_OWNERS) == ""


def test_the_superuser_of_the_release_before_gets_another_name_and_password(before: Before) -> None:
    with EmbeddedServer(before.folder) as server:
        known = "select string_agg(rolname || ' ' || rolsuper, ', ' order by rolname) from pg_roles where rolcanlogin"

        assert ask(server.superuser_dsn(), known) == "rolecall false, rolecall_superuser true"
        assert server.superuser_dsn().split("@")[0].rpartition(":")[2] not in server.dsn()


def test_a_database_of_the_release_before_is_migrated_by_its_owner(before: Before) -> None:
    with EmbeddedServer(before.folder) as server, connect(server.dsn(), "test") as connection:
        connection.execute("update rolecall.schema_files set checksum = 'of another text'")

        migrate(connection)

        assert connection.execute("select count(*) from rolecall.tasks").fetchone() == (0,)


@pytest.mark.parametrize("step", ["_take_the_rights_away", "_hand_over"])
def test_a_hand_over_that_was_cut_short_is_finished_by_the_next_start(
    before: Before, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def cut_short(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, cut_short)
        with pytest.raises(KeyboardInterrupt):
            EmbeddedServer(before.folder).attach()

    with EmbeddedServer(before.folder) as server:
        assert ask(server.dsn(), NOT_THE_OWNERS) == ""


def test_what_the_superuser_makes_stays_his(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        do(server.superuser_dsn(), "create database his")

        with EmbeddedServer(tmp_path / "data"):
            owner_of_it = "select pg_get_userbyid(datdba) from pg_database where datname = 'his'"
            assert ask(server.dsn(), owner_of_it) == "rolecall_superuser"


def test_processes_of_the_release_before_that_are_still_at_work_are_told_of(before: Before) -> None:
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        running = EmbeddedServer(before.folder)
        running.attach()
    try:
        with before.connect("rolecall") as connection, connection.transaction():
            connection.execute("select from shop.orders")
            with pytest.raises(StillInUse, match="the database rolecall is of an earlier release, and is in use"):
                EmbeddedServer(before.folder).attach()
    finally:
        running.detach()


def test_processes_of_the_release_before_go_on_beside_one_of_this(before: Before) -> None:
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        running = EmbeddedServer(before.folder)
        running.attach()
    try:
        with before.connect("rolecall") as connection, EmbeddedServer(before.folder):
            assert connection.execute("select note from shop.orders").fetchone() == ("of the release before",)
        with before.connect("rolecall") as connection:
            assert connection.execute("select note from shop.orders").fetchone() == ("of the release before",)
    finally:
        running.detach()
