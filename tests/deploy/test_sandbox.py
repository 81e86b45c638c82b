"""The sandbox of the systemd units: its strength, and a worker that runs in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

from rolecall import Client
from tests.deploy.confined import app, compute, write
from tests.deploy.test_templates import ROOT, UNITS

# In tenths, as `systemd-analyze security` expects it.
MOST_EXPOSURE = "20"
SANDBOX = re.compile(r"^(?:NoNew|Capability|SystemCall|Restrict|Lock|Memory|Protect|Private|UMask)\w*=.*", re.MULTILINE)
PROGRAM = Path(sys.executable).with_name("rolecall")
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze reads units")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_exposure_of_a_unit_is_low(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={MOST_EXPOSURE}", str(unit)]

    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr


def test_all_units_have_the_same_sandbox() -> None:
    [sandbox] = {tuple(SANDBOX.findall(unit.read_text())) for unit in UNITS}

    assert {
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "SystemCallFilter=@system-service",
        "RestrictNamespaces=yes",
        "MemoryDenyWriteExecute=yes",
        "ProtectSystem=strict",
        "UMask=0077",
    } <= set(sandbox)


@needs_systemd
@pytest.mark.skipif(sys.platform != "linux" or find_library("seccomp") is None, reason="libseccomp installs filters")
def test_worker_runs_tasks_and_child_processes_in_the_sandbox(database: str, tmp_path: Path) -> None:
    [unit] = [unit for unit in UNITS if "worker" in unit.name]
    confined = [sys.executable, "-m", "tests.deploy.confine", str(unit)]
    worker = [str(PROGRAM), "worker", "--app", "tests.deploy.confined:app", "--until-idle"]
    with Client(database, app=app) as client:
        written = client.enqueue(write, name=str(tmp_path / "file"))
        computed = client.enqueue(compute)

        subprocess.run(
            [*confined, *worker],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database},
            check=True,
            timeout=120,
        )

        assert client.wait(written).result == "written"
        assert client.wait(computed).result == "7\n"
