"""A control plane for the test session, with the binaries in KUBE_BINARIES or with binaries that are built once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.tests.control_plane import ControlPlane, control_plane
from deploy.tests.stage import ROOT, say

VARIABLE = "KUBE_BINARIES"
NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager")
BUILT = ROOT / ".tools" / "kubernetes"


@pytest.fixture(scope="session")
def binaries() -> Path:
    given = os.environ.get(VARIABLE)
    folder = Path(given) if given else BUILT / "bin"
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing and given:
        pytest.exit(f"{VARIABLE} names {folder}, which has no {', '.join(missing)}", returncode=2)
    if missing:
        print(f"\nbuilding Kubernetes in {BUILT}: 3 to 20 minutes", flush=True)
        subprocess.run([str(Path(__file__).parent / "build-binaries"), str(BUILT)], check=True)
    return folder


@pytest.fixture(scope="session")
def plane(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_plane(binaries, tmp_path_factory.mktemp("plane")) as plane:
        print()
        say(f"a kube-apiserver {plane.version()} with RBAC answers at {plane.url}")
        yield plane
