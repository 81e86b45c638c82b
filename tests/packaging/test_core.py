"""The wheel without extras: working features and messages about missing extras."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rolecall.extras import EXTRAS
from tests.packaging.installing import Environment
from tools.release import build

# No zone but UTC, as in a small image: Python looks for them in no folder.
WITHOUT_ZONES = {"PYTHONTZPATH": ""}
SHOP = """
from rolecall import App

app = App("shop")
app.schedule("nightly", "greet", cron="30 4 * * *", payload={"name": "Ada"})


@app.task
def greet(name: str) -> str:
    return f"Hello, {name}!"
"""
SEND = """
from rolecall import Client
from shop import app, greet

with Client(app=app) as client:
    print(client.enqueue(greet, name="Ada").id)
"""
ABROAD = """
from rolecall import App, InvalidSchedule
app = App("shop")
try:
    app.schedule("nightly", "greet", cron="30 4 * * *", zone="America/Phoenix")
except InvalidSchedule as error:
    print(error)
"""
# The feature that needs each of them. The embedded server is tested below.
ASKS = {
    "kubernetes": ("rolecall replicas", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}),
    "metrics": ("rolecall worker --app shop:app --metrics 127.0.0.1:9", {}),
    "nats": ("rolecall worker --app shop:app --notifications nats://127.0.0.1:9", {}),
    "otel": ("""python -c 'import rolecall.telemetry.opentelemetry'""", {}),
    "redis": ("rolecall worker --app shop:app --notifications redis://127.0.0.1:9", {}),
    "s3": ("""python -c 'from rolecall.results import open_store; open_store("s3://bucket")'""", {}),
    "web": ("rolecall serve", {}),
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("core")
    build("rolecall", "wheel", folder / "wheels")
    environment = Environment(folder / "venv", folder / "wheels")
    environment.make()
    environment.install(["rolecall", "psycopg[binary]"])
    return environment


@pytest.fixture
def run(core: Environment, tmp_path: Path, database: str) -> Run:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "send.py").write_text(SEND)

    def run(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": f"{core.programs}:/usr/bin:/bin", "HOME": str(tmp_path), "DATABASE_URL": database}
        return subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environ | WITHOUT_ZONES | variables,
            check=False,
            capture_output=True,
            text=True,
        )

    return run


def test_wheel_without_extras_runs_client_worker_schedules_and_command(run: Run) -> None:
    sent = run("python send.py")
    worked = run("rolecall worker --app shop:app --until-idle")
    listed = run("rolecall tasks list --json")
    previewed = run("rolecall schedules preview nightly --json")

    assert (sent.returncode, sent.stderr) == (0, "")
    assert worked.returncode == 0, worked.stderr
    assert [task["state"] for task in json.loads(listed.stdout)["items"]] == ["completed"]
    assert previewed.returncode == 0, previewed.stderr


def test_missing_time_zone_data_is_reported_with_the_package_to_install(run: Run) -> None:
    result = run(f"python -c '{ABROAD}'")

    assert (
        "this machine has no time zones except UTC, so 'America/Phoenix' is unknown: pip install tzdata"
        in result.stdout
    )


@pytest.mark.parametrize("name", ASKS)
def test_missing_extra_is_reported_with_its_purpose(run: Run, name: str) -> None:
    command, variables = ASKS[name]

    done = run(command, **variables)

    assert done.returncode != 0
    result = f"the extra `{name}`, for {EXTRAS[name].gives} ({EXTRAS[name].modules[0]}"
    assert result in " ".join(done.stderr.split())
    assert f"pip install 'rolecall[{name}]'" in done.stderr


def test_missing_postgres_is_reported_with_installation_advice(run: Run) -> None:
    done = run("rolecall up", DATABASE_URL="", ROLECALL_PG_BIN="nowhere")

    assert done.returncode != 0
    assert "DATABASE_URL is not set" in done.stderr
    assert "pip install 'rolecall[embedded]'" in done.stderr


def test_list_of_extras_shows_missing_ones(run: Run) -> None:
    listed = json.loads(run("rolecall extras --json").stdout)

    assert {each["name"] for each in listed if not each["installed"]} == EXTRAS.keys()
