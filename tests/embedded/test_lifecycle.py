"""Starting on demand, joining and detaching."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rolecall.embedded.connection import create_database
from rolecall.embedded.errors import InvalidOption, NotAnswering, NotAttached, StartFailed
from rolecall.embedded.owner import superuser_of
from rolecall.embedded.process import wait_until
from rolecall.embedded.server import EmbeddedServer
from rolecall.embedded.start import ServerOptions
from tests.embedded.helpers import (
    PATIENCE,
    Attach,
    ask,
    cluster,
    do,
    fast_shutdowns,
    is_gone,
    kill_server,
    server_pid,
)


def test_first_start_returns_usable_connection_string(cold_dir: Path) -> None:
    with EmbeddedServer(cold_dir) as server:
        assert ask(server.dsn(), "select current_database()") == "rolecall"


def test_new_tables_are_created_in_the_public_schema(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        do(server.dsn(), "create schema if not exists rolecall; create table my_own (number int)")

        assert ask(server.dsn(), "select schemaname from pg_tables where tablename = 'my_own'") == "public"


def test_committed_rows_survive_stop_and_start(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        do(server.dsn(), "create table kept as select 7 as number")

    with EmbeddedServer(data_dir) as server:
        assert ask(server.dsn(), "select number from kept") == 7


def test_second_process_joins_the_same_server(data_dir: Path, attach: Attach) -> None:
    with EmbeddedServer(data_dir) as server:
        other = attach(data_dir)

        assert other.server_pid == server.pid
        assert ask(other.dsn, "select 1") == 1
        assert other.leave() == 0


def test_starter_can_detach_while_another_process_stays_attached(data_dir: Path, attach: Attach) -> None:
    starter = attach(data_dir)
    pid = starter.server_pid
    with EmbeddedServer(data_dir) as server:
        starter.leave()

        assert server.pid == pid
        assert ask(server.dsn(), "select 1") == 1


def test_last_process_to_detach_stops_the_server(data_dir: Path) -> None:
    before = fast_shutdowns(data_dir)
    with EmbeddedServer(data_dir) as server:
        pid = server.pid
    assert pid is not None

    assert is_gone(pid)
    assert wait_until(lambda: fast_shutdowns(data_dir) > before, PATIENCE)


def test_two_attachments_in_one_process_are_counted_separately(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as stays:
        with EmbeddedServer(data_dir) as leaves:
            assert leaves.pid == stays.pid

        assert ask(stays.dsn(), "select 1") == 1


def test_detaching_twice_counts_once(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir)
    server.attach()
    with EmbeddedServer(data_dir) as other:
        server.detach()
        server.detach()

        assert other.pid is not None


def test_connection_string_requires_attachment(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir)

    with pytest.raises(NotAttached):
        server.dsn()
    assert server.pid is None


def test_attaching_again_restarts_a_dead_server(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        before = server.dsn()
        kill_server(data_dir)
        with pytest.raises(NotAnswering):
            server.dsn("another")

        server.attach()

        assert server.dsn() == before
        assert ask(server.dsn(), "select 1") == 1


def test_concurrent_requests_create_a_database_once(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        address = server._address
        assert address is not None
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: create_database(address, superuser_of(server._home), "many ask"), range(8)))

        assert ask(server.dsn("many ask"), "select current_database()") == "many ask"


def test_port_stays_the_same_across_restarts(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        first = server.dsn(tcp=True)

    with EmbeddedServer(data_dir) as server:
        assert server.dsn(tcp=True) == first


def test_durability_settings_are_on(data_dir: Path) -> None:
    durable = ("fsync", "full_page_writes", "synchronous_commit", "data_checksums", "autovacuum")
    with EmbeddedServer(data_dir) as server:
        assert {ask(server.dsn(), f"show {name}") for name in durable} == {"on"}


def test_options_reach_the_server(data_dir: Path) -> None:
    options = ServerOptions(max_connections=17, extra={"work_mem": "5MB", "app.motto": "it's"})
    with EmbeddedServer(data_dir, options=options) as server:
        assert ask(server.dsn(), "show max_connections") == "17"
        assert ask(server.dsn(), "show work_mem") == "5MB"
        assert ask(server.dsn(), "show app.motto") == "it's"


def test_error_quotes_the_server_about_a_rejected_setting(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir, options=ServerOptions(extra={"no_such_setting": "1"}))

    with pytest.raises(StartFailed, match='unrecognized configuration parameter "no_such_setting"'):
        server.attach()
    assert server_pid(data_dir) is None
    assert cluster(data_dir).is_dir()


@pytest.mark.parametrize("name", ["port", "LISTEN_ADDRESSES", "not a name", "x\ny"])
def test_reserved_setting_is_rejected(name: str) -> None:
    with pytest.raises(InvalidOption):
        ServerOptions(extra={name: "1"})
