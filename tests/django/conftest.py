"""Projects of both releases of Django, each in processes of its own, on databases that are dropped after the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from rolecall.testing import TestServer
from tests.pythons import environment, interpreters

HERE = Path(__file__).parent
# Which Python has which Django in the lock.
FIVE, SIX = "3.11", "3.13"
PATIENCE = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder with Django in it."""

    python: Path
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run its Python to the end."""
        command = [str(self.python), *words]
        return subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=self.variables,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def manage(self, *words: str) -> str:
        """Run a command of `manage.py`, from another folder, which must end well; return what it printed."""
        done = self.run(str(self.folder / "manage.py"), *words, cwd=Path("/"))
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


def project_of(version: str, folder: str, dsn: str, server: TestServer) -> Iterator[Project]:
    """A project for the Django that this Python has; its tests' database has a name that nobody else uses."""
    if version not in interpreters():
        pytest.skip(f"Python {version}, for which this Django is locked, is not installed")
    tests_database = f"rolecall_site_{uuid4().hex[:12]}"
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", ""),
        "SITE_DATABASE": dsn,
        "SITE_TEST_DATABASE": tests_database,
        "DJANGO_SETTINGS_MODULE": "settings",
    }
    yield Project(python=environment(version), folder=HERE / folder, variables=variables)
    server.drop(tests_database)


@pytest.fixture(params=[FIVE, SIX], ids=["Django 5", "Django 6"])
def project(request: pytest.FixtureRequest, database: str, postgres_server: TestServer) -> Iterator[Project]:
    yield from project_of(request.param, "site", database, postgres_server)


@pytest.fixture
def shop(database: str, postgres_server: TestServer) -> Iterator[Project]:
    yield from project_of(SIX, "site", database, postgres_server)


@pytest.fixture
def own(database: str, postgres_server: TestServer) -> Iterator[Project]:
    yield from project_of(SIX, "own", database, postgres_server)
