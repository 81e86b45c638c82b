"""Tests of Rolecall and Storecrawl on the lowest versions that their metadata accepts, and the bounds themselves."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from rolecall.model.lazy import NO_LIBPQ
from tests.packaging.installing import Environment
from tests.packaging.test_metadata import requirements
from tools.errors import SetupError
from tools.offences import ROOT
from tools.release import build
from tools.uv import Uv

# Before 2.10, a model has its fields under another name. The web extra needs 2.10; the core accepts each version.
OLDER_PYDANTIC = "pydantic==2.8.0"
LOCK = ROOT / "locks" / "lowest.lock"
# A year older than the first release.
ORDINARY_PINS = {
    "django": "5.2",
    "fastapi": "0.128.0",
    "jinja2": "3.1.4",
    "msgspec": "0.19.0",
    "prometheus-client": "0.21.0",
    "psycopg": "3.2.13",
    "python-multipart": "0.0.20",
    "redis": "6.0.0",
    "typer": "0.21.0",
    "uvicorn": "0.40.0",
}
TESTS = (
    "apps/storecrawl/tests/api/test_api_document.py",
    "apps/storecrawl/tests/api/test_api_stores.py",
    "apps/storecrawl/tests/test_cli.py::test_command_line_without_arguments_shows_its_commands",
    "tests/app/test_redacted.py",
    "tests/app/test_kinds.py",
    "tests/cli/test_enqueue.py",
    "tests/cli/test_main.py",
    "tests/cli/test_up.py::test_up_runs_tasks_enqueued_by_another_process_and_exits_cleanly",
    "tests/client/test_enqueue.py",
    "tests/dashboard/test_task_page.py",
    "tests/web/test_events.py",
    "tests/web/test_limits.py",
    "tests/web/test_mounting.py",
    "tests/web/test_tasks.py",
    "tests/worker/test_outcomes.py",
)
# Deprecations in newer libraries do not fail the tests.
TOLERATED = ("-W", "default::DeprecationWarning", "-W", "default::PendingDeprecationWarning")
# Messages that older versions do not have: typer's nearest command, and msgspec's reason for a rejected type.
KIND = "tests/app/test_kinds.py::test_type_whose_values_cannot_be_stored_is_rejected_at_the_declaration"
NEWER = (
    "tests/cli/test_main.py::test_unknown_command_exits_with_code_2_and_one_line",
    *(f"{KIND}[{place}-dict[typing.Literal['1', 1], str]]" for place in ("value", "return")),
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("rolecall", "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def lowest(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """An environment with the lowest direct versions, and both packages."""
    crawler = build("storecrawl", "wheel", tmp_path_factory.mktemp("crawler"))
    environment = Environment(tmp_path_factory.mktemp("lowest") / "venv", wheel.parent)
    environment.make()
    uv, python = Uv.find(ROOT), str(environment.programs / "python")
    try:
        uv.run("pip", "sync", "--quiet", "--require-hashes", "--python", python, str(LOCK))
    except SetupError as error:
        pytest.skip(f"packages are not available: {error}")
    uv.run("pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, str(wheel), str(crawler))
    return environment


@pytest.mark.timeout(1_200)
def test_suite_passes_on_the_lowest_versions(lowest: Environment) -> None:
    left_out = [word for test in NEWER for word in ("--deselect", test)]
    pytest_words = ["-m", "pytest", "-q", *TOLERATED, *left_out, *TESTS]
    command = [str(lowest.programs / "python"), *pytest_words]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout[-4000:]


def test_redaction_works_with_the_pydantic_of_programs_without_the_web_extra(
    tmp_path: Path, lowest: Environment
) -> None:
    python, uv = str(lowest.programs / "python"), Uv.find(ROOT)
    try:
        uv.run("pip", "install", "--quiet", "--python", python, "--target", str(tmp_path), OLDER_PYDANTIC)
    except SetupError as error:
        pytest.skip(f"the package is not available: {error}")
    command = [python, "-m", "pytest", "-q", *TOLERATED, "tests/app/test_redacted.py"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("name", ORDINARY_PINS)
def test_ordinary_pin_is_accepted(wheel: Path, name: str) -> None:
    bounds = [each.specifier for each in requirements(wheel) if each.name == name]

    assert bounds
    assert all(bound.contains(ORDINARY_PINS[name]) for bound in bounds)


def test_upper_bound_of_uvicorn_is_the_release_after_the_tested_one(wheel: Path) -> None:
    [bound] = [each for each in requirements(wheel) if each.name == "uvicorn"]
    tested = Version(version("uvicorn"))

    assert f"<{tested.major}.{tested.minor + 1}" in str(bound.specifier)


def test_only_the_embedded_extra_brings_libpq(wheel: Path) -> None:
    bringing = [each for each in requirements(wheel) if each.name == "psycopg" and "binary" in each.extras]

    assert [str(each.marker) for each in bringing] == ['extra == "embedded"']


def test_missing_libpq_is_reported_with_both_ways_to_install_it(tmp_path: Path, lowest: Environment) -> None:
    (tmp_path / "psycopg.py").write_text(f"raise ImportError('{NO_LIBPQ}. Attempts made: none')")

    done = subprocess.run(
        [lowest.programs / "rolecall", "tasks", "list"],
        env={"PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert re.fullmatch(r"rolecall: .*libpq5 on Debian\), or pip install 'psycopg\[binary\]'\n", done.stderr)
