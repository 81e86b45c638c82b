"""Files and process ids left behind by earlier servers or other programs."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolecall.embedded.errors import DataDirectoryUnusable, OtherMajor, StartFailed
from rolecall.embedded.home import Home
from rolecall.embedded.process import is_alive, server_account, wait_until
from rolecall.embedded.server import EmbeddedServer
from tests.embedded.helpers import PATIENCE, Attach, ask, cluster, kill_server


@pytest.fixture
def killed(data_dir: Path, attach: Attach) -> Path:
    """A data directory whose server and only user were killed."""
    user = attach(data_dir)
    assert user.server_pid
    user.kill()
    kill_server(data_dir)
    return data_dir


@pytest.fixture
def unrelated(killed: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A live process of the server's user that is not Postgres."""
    account = server_account(cluster(killed))
    process = subprocess.Popen([*account.prefix, "sleep", "300"])
    yield process
    process.kill()
    process.wait()


def claim_that_the_server_is(pid: int, data_dir: Path) -> None:
    pid_file = cluster(data_dir) / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(pid), *lines[1:], ""]))


def test_recycled_process_id_does_not_prevent_start(killed: Path, unrelated: subprocess.Popen[bytes]) -> None:
    claim_that_the_server_is(unrelated.pid, killed)

    with EmbeddedServer(killed) as server:
        assert ask(server.dsn(), "select 1") == 1
    assert is_alive(unrelated.pid)


def test_zombie_postmaster_does_not_prevent_start(killed: Path, unrelated: subprocess.Popen[bytes]) -> None:
    unrelated.kill()
    assert wait_until(lambda: not is_alive(unrelated.pid), PATIENCE)
    assert Path("/proc", str(unrelated.pid)).exists()
    claim_that_the_server_is(unrelated.pid, killed)

    with EmbeddedServer(killed) as server:
        assert ask(server.dsn(), "select 1") == 1


@pytest.mark.parametrize("content", ["", "rubbish\n", "1\n"])
def test_truncated_pid_file_does_not_prevent_start(killed: Path, content: str) -> None:
    (cluster(killed) / "postmaster.pid").write_text(content)

    with EmbeddedServer(killed) as server:
        assert ask(server.dsn(), "select 1") == 1


def test_partially_created_cluster_is_replaced(cold_dir: Path) -> None:
    half_made = Home.under(cold_dir).folder / "data-18.init"
    (half_made / "base").mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")

    with EmbeddedServer(cold_dir) as server:
        assert ask(server.dsn(), "select 1") == 1
        assert not half_made.exists()


def test_another_port_is_chosen_if_the_last_one_is_in_use(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        before = server.dsn(tcp=True)
    port = Home.under(data_dir).last_port()
    assert port is not None

    with socket.create_server(("127.0.0.1", port)), EmbeddedServer(data_dir) as server:
        assert server.dsn(tcp=True) != before
        assert ask(server.dsn(tcp=True), "select 1") == 1


def test_port_taken_between_choice_and_start_is_replaced(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1]])
        choose = sys.modules["rolecall.embedded.start"]._free_port
        monkeypatch.setattr("rolecall.embedded.start._free_port", lambda last: next(ports, None) or choose(last))

        with EmbeddedServer(data_dir) as server:
            assert ask(server.dsn(), "select 1") == 1


def test_cluster_of_a_major_version_without_binaries_is_rejected(cold_dir: Path) -> None:
    (Home.under(cold_dir).folder / "data-9").mkdir(parents=True)

    with pytest.raises(OtherMajor, match="data-9"):
        EmbeddedServer(cold_dir).attach()


def test_error_names_a_file_at_the_path_of_the_data_directory(cold_dir: Path) -> None:
    cold_dir.write_text("not a folder")

    with pytest.raises(DataDirectoryUnusable, match=str(cold_dir)):
        EmbeddedServer(cold_dir).attach()
    cold_dir.unlink()


def test_rejected_password_is_reported_quickly(data_dir: Path) -> None:
    Home.under(data_dir).password_file.write_text("another")
    Home.under(data_dir).superuser_password_file.write_text("another")

    with pytest.raises(StartFailed, match="password authentication failed"):
        EmbeddedServer(data_dir).attach()


def test_password_replaced_in_its_file_becomes_the_owners_password(data_dir: Path) -> None:
    Home.under(data_dir).password_file.write_text("another")

    with EmbeddedServer(data_dir) as server:
        assert ":another@" in server.dsn()
        assert ask(server.dsn(), "select 1") == 1


def test_missing_password_file_is_reported_immediately(data_dir: Path) -> None:
    Home.under(data_dir).password_file.unlink()

    with pytest.raises(DataDirectoryUnusable, match="password"):
        EmbeddedServer(data_dir).attach()
