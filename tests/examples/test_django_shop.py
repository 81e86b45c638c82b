"""The Django shop in an environment with only the wheel and its dependencies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.cli.processes import until
from tests.guides.reader import free_ports
from tests.packaging.installing import Environment
from tools.offences import ROOT
from tools.release import build

EXAMPLE = ROOT / "examples" / "django-shop"
ORDER = {"customer": "Ada", "email": "ada@example.org", "pence": 450}
PATIENCE = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A copy of the example, and the environment that runs it."""

    folder: Path
    python: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def manage(self, *words: str) -> str:
        """Run a command to its end, which must be a good one; return all that it wrote."""
        done = subprocess.run(
            [self.python, "manage.py", *words],
            cwd=self.folder,
            env=self.variables,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}"
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("django-shop")
    environment = Environment(folder / "venv", folder / "wheels")
    environment.wheels.mkdir()
    build("rolecall", "wheel", environment.wheels)
    environment.make()
    environment.install(["rolecall[django]"])
    return environment


@pytest.fixture
def shop(installed: Environment, database: str, tmp_path: Path) -> Shop:
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    output = conninfo_to_dict(database)
    words = {"DB": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return Shop(
        folder=folder,
        python=installed.programs / "python",
        variables={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            **{f"POSTGRES_{name}": str(output[word]) for name, word in words.items() if word in output},
        },
    )


def test_own_tests_of_the_example_pass(shop: Shop) -> None:
    result = shop.manage("test", "--noinput")

    assert "OK" in result
    assert "Ran 3 tests" in result


def test_models_and_migrations_of_the_example_agree(shop: Shop) -> None:
    assert "No changes detected" in shop.manage("makemigrations", "--check", "--dry-run")


def test_order_of_a_customer_is_billed_by_a_worker(shop: Shop) -> None:
    shop.manage("migrate", "-v0")
    [port] = free_ports(1)
    with subprocess.Popen(
        [shop.python, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"],
        cwd=shop.folder,
        env=shop.variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as web:
        try:
            until(lambda: answers(port), "the shop answers")
            placed = place_order(port)
        finally:
            web.terminate()

    result = shop.manage("rolecall", "worker", "--until-idle")

    assert "Dear Ada, please pay 4.50 GBP." in result
    task = json.loads(shop.manage("rolecall", "tasks", "show", str(placed["task"]), "--json"))["task"]
    assert (task["state"], task["key"]) == ("completed", f"order:{placed['order']}")


def answers(port: int) -> bool:
    with suppress(URLError, ConnectionError):
        return bool(urlopen(f"http://127.0.0.1:{port}/admin/login/", timeout=10).status == 200)
    return False


def place_order(port: int) -> dict[str, int]:
    request = Request(
        f"http://127.0.0.1:{port}/orders/", json.dumps(ORDER).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - ours
        found: dict[str, int] = json.load(answer)
    return found
