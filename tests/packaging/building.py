"""Builds the distributions as they would be published, from the work tree and without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Literal

from tools.offences import ROOT

PROJECTS = {
    "rolecall": ROOT,
    "rolecall-import": ROOT / "packages" / "rolecall-import",
    "storecrawl": ROOT / "apps" / "storecrawl",
}


def build(project: str, kind: Literal["wheel", "sdist"], folder: Path) -> Path:
    """Build one of the projects into a folder, and return the file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=PROJECTS[project], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [built] = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built
