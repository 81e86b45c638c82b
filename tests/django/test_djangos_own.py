"""Django's own tests of `django.tasks`, from its source distribution, run with Rolecall's backend."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.django.conftest import SIX, Project
from tests.pythons import interpreters
from tools.offences import ROOT
from tools.uv import tools_folder

TESTS = "tests/tasks/"
SUMMARY = re.compile(r"Ran (\d+) tests in .*\n\nOK \(skipped=(\d+)\)")


@pytest.fixture
def djangos_tests(own: Project) -> Path:
    """The folder with Django's package `tasks`, which is downloaded once and kept with the tools."""
    version = own.run("-c", "import django; print(django.__version__)").stdout.strip()
    folder = tools_folder(ROOT) / f"django-{version}-tests"
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fetch(version, folder)
    return folder


def test_own_tests_of_django_pass_with_our_backend(own: Project, djangos_tests: Path) -> None:
    # They call synchronous code in coroutines, which Django allows only with this variable.
    more = {"PYTHONPATH": f"{djangos_tests}:{own.folder}", "DJANGO_ALLOW_ASYNC_UNSAFE": "1"}
    own = replace(own, variables=own.variables | more)

    # They leave sessions of ended threads open, so the database is dropped with force, and not by Django.
    done = own.run("-m", "django", "test", "tests_of_backends", "--keepdb", "--noinput")

    ran = SUMMARY.search(done.stderr)
    assert ran is not None, done.stderr
    assert int(ran[1]) - int(ran[2]) >= 70
    assert int(ran[2]) == 6


def fetch(version: str, folder: Path) -> None:
    """Download the source distribution with pip, and keep its tests of tasks. Skip the test if it is not available."""
    with TemporaryDirectory() as place:
        pip = [str(interpreters()[SIX]), "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        wanted = [f"django=={version}", "--no-deps", "--no-binary", "django", "--dest", place]
        done = subprocess.run([*pip, *wanted], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Django's source distribution is not available: {done.stderr.strip().splitlines()[-1]}")
        [archive] = Path(place).glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            members = [each for each in packed.getmembers() if TESTS in each.name]
            packed.extractall(place, members, filter="data")
        [found] = Path(place).glob(f"*/{TESTS}")
        unfinished = folder.with_suffix(".new")
        shutil.copytree(found, unfinished / "tasks", dirs_exist_ok=True)
        unfinished.rename(folder)
