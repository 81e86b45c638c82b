"""The templates in deploy/app: each file is read by its own tool, as far as that is available here."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from rolecall.cli.main import build
from rolecall.config import SETTINGS, read_settings

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "deploy" / "app"
UNITS = sorted((APP / "systemd").iterdir())
DOCKERFILES = [ROOT / "deploy" / "Dockerfile", APP / "Dockerfile"]
COMPOSE = yaml.safe_load((APP / "compose.yaml").read_text())
NAMES = {name for group in SETTINGS.values() for setting in group for name in setting.names}
FLAG = re.compile(r"--[a-z-]+")
HADOLINT = Path(sys.executable).with_name("hadolint")
# Variables of an image that are not Rolecall's settings.
OTHERS = {
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "HOME",
    "POSTGRES_PASSWORD",
    "OWNER_PASSWORD",
    "WORK_PASSWORD",
    "SERVE_PASSWORD",
}


@cache
def docker() -> str | None:
    """Return why no image can be built here, or None."""
    if shutil.which("docker") is None:
        return "there is no container runtime"
    done = subprocess.run(["docker", "info"], check=False, capture_output=True, text=True, timeout=60)
    return None if done.returncode == 0 else "the container runtime does not answer"


def stanza(unit: Path, key: str) -> str:
    [value] = re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)
    return str(value)


def words_of_services() -> list[list[str]]:
    return [["rolecall", *service["command"]] for service in COMPOSE["services"].values() if "command" in service]


COMMANDS = [
    *(shlex.split(stanza(unit, "ExecStart")) for unit in UNITS),
    *words_of_services(),
    ["rolecall", *COMPOSE["services"]["serve"]["healthcheck"]["test"][2:]],
]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze reads units")
def test_systemd_finds_no_problems_in_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text().replace("/opt/myapp/venv/bin/rolecall", sys.executable)
        (tmp_path / unit.name).write_text(text)
    names = [str(tmp_path / unit.name.replace("@", "@1")) for unit in UNITS]

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names], check=False, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[1:3]))
def test_every_command_line_uses_existing_commands_and_flags(words: list[str]) -> None:
    command: Any = build().commands[words[1]]
    known = {flag for parameter in command.real().params for flag in parameter.opts}

    assert {word for word in words if FLAG.fullmatch(word)} <= known


def test_unit_of_the_api_serves_with_keys_behind_a_proxy_on_this_machine() -> None:
    [unit] = [unit for unit in UNITS if "serve" in unit.name]
    environment = dict([stanza(unit, "Environment").split("=")])

    assert "--auth keys" in stanza(unit, "ExecStart")
    assert read_settings(environment).access.forwarded_by == "127.0.0.1"


def test_stop_timeout_of_a_worker_exceeds_that_of_its_tasks() -> None:
    [unit] = [unit for unit in UNITS if "worker" in unit.name]
    flags = shlex.split(stanza(unit, "ExecStart"))
    service = COMPOSE["services"]["worker"]

    assert int(stanza(unit, "TimeoutStopSec")) > float(flags[flags.index("--grace") + 1])
    assert (
        int(service["stop_grace_period"].removesuffix("s"))
        > read_settings({"ROLECALL_GRACE": service["environment"]["ROLECALL_GRACE"]}).worker.grace
    )


@pytest.mark.skipif(not HADOLINT.exists(), reason="hadolint is not installed")
@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_hadolint_finds_no_problems_in_a_dockerfile(file: Path) -> None:
    done = subprocess.run([HADOLINT, "--no-color", file], check=False, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(docker() is not None, reason=str(docker()))
def test_image_can_be_built(tmp_path: Path) -> None:
    shutil.copy(APP / "Dockerfile", tmp_path)
    (tmp_path / "requirements.txt").write_text("")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "myapp"\nversion = "1"\n')
    (tmp_path / "myapp").mkdir()
    (tmp_path / "myapp" / "tasks.py").write_text("")

    subprocess.run(["docker", "build", "--quiet", tmp_path], check=True, timeout=250)


def test_image_runs_unprivileged_and_checks_its_workers_health_file() -> None:
    text = (APP / "Dockerfile").read_text()
    [file] = re.findall(r"ROLECALL_HEALTH_FILE=(\S+)", text)

    assert re.search(r"^USER (?!0)\d+:\d+$", text, re.MULTILINE)
    assert f'CMD ["rolecall", "health", "{file}"]' in text
    assert set(re.findall(r"([A-Z_]+)=", text.partition("ENV ")[2].partition("# By")[0])) <= NAMES | OTHERS


def test_every_service_variable_is_a_setting_or_belongs_to_postgres() -> None:
    result = {name for service in COMPOSE["services"].values() for name in service.get("environment", {})}

    assert result <= NAMES | OTHERS


def test_every_dependency_and_mount_of_a_service_exists() -> None:
    services = COMPOSE["services"]

    for service in services.values():
        for name, rule in service.get("depends_on", {}).items():
            healthy = rule["condition"] == "service_healthy"
            assert name in services
            assert not healthy or "healthcheck" in services[name]
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in COMPOSE["volumes"]


def test_worker_and_server_start_only_after_the_migration() -> None:
    services = COMPOSE["services"]

    assert list(services["migrate"]["depends_on"]) == ["postgres"]
    for name in ("worker", "serve"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


def test_published_ports_are_reachable_only_from_this_machine() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize(
    "file", [*UNITS, *(file for file in APP.iterdir() if file.is_file())], ids=lambda file: file.name
)
def test_templates_do_not_mention_the_crawler(file: Path) -> None:
    assert not re.search("crawl|scraper|dispensary", file.read_text(), re.IGNORECASE)


def test_library_modules_do_not_mention_the_crawler() -> None:
    package = ROOT / "src" / "rolecall"
    files = [
        file
        for file in package.rglob("*")
        if file.suffix in {".py", ".sql", ".html", ".js"} and "vendor" not in file.parts
    ]

    assert [file for file in files if re.search("crawl|scraper|dispensary", file.read_text(), re.IGNORECASE)] == []
