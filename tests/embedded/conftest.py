"""Data directories without a running server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rolecall.embedded.home import Home
from rolecall.embedded.server import EmbeddedServer
from tests.embedded.helpers import Attach, Attached, stop_leftovers


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a cluster that was started and stopped once."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    with EmbeddedServer(folder) as server:
        server.dsn()
    Home.under(folder).port_file.unlink()
    return folder


@pytest.fixture
def cold_dir(tmp_path: Path) -> Iterator[Path]:
    """A missing data directory below a private parent (pytest creates it with mode 0700)."""
    folder = tmp_path / "cold"
    yield folder
    stop_leftovers(folder)


@pytest.fixture
def data_dir(prepared: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of a stopped cluster, because creating a cluster takes most of a second."""
    folder = tmp_path / "data"
    subprocess.run(["cp", "-a", str(prepared), str(folder)], check=True)
    yield folder
    stop_leftovers(folder)


@pytest.fixture
def short_dir(prepared: Path) -> Iterator[Path]:
    """The same at a path short enough for a socket; the paths of pytest are too long."""
    with tempfile.TemporaryDirectory(prefix="rc-") as parent:
        folder = Path(parent, "data")
        subprocess.run(["cp", "-a", str(prepared), str(folder)], check=True)
        yield folder
        stop_leftovers(folder)


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A folder that every user can access."""
    folder = Path(tempfile.mkdtemp(prefix="rolecall-"))
    folder.chmod(0o755)
    yield folder
    stop_leftovers(folder)
    shutil.rmtree(folder)


@pytest.fixture
def attach() -> Iterator[Attach]:
    """Starts attached processes and kills them after the test."""
    with ExitStack() as stack:
        yield lambda *words, **options: stack.enter_context(Attached(*words, **options))


@pytest.fixture
def as_root() -> None:
    """Skip unless the tests run as root."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
