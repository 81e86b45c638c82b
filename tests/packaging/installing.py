"""An environment as somebody has it who installs what we publish: no source tree, and nothing that was not asked for."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from tests.packaging.building import PROJECTS, build
from tools.offences import ROOT
from tools.uv import Uv

TO_RUN, TO_DEVELOP = (ROOT / "locks" / f"{name}.lock" for name in ("run", "dev"))


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment of its own, with a folder of our wheels beside it."""

    folder: Path
    wheels: Path
    _: KW_ONLY
    locked: Path = TO_RUN
    python: Path = Path(sys.executable)

    @property
    def programs(self) -> Path:
        """Where its commands are."""
        return self.folder / "bin"

    def make(self) -> None:
        """Make the environment, with nothing in it; without another one for the Python that runs the tests."""
        uv = Uv.find(ROOT)
        uv.run("venv", "--quiet", "--python", str(self.python), str(self.folder))

    def install(self, words: Sequence[str]) -> None:
        """Do what `pip install` with these words would: our wheels, and the versions that are locked of all others.

        uv's cache has them where this work tree was set up; the index is asked only where it lacks one.
        """
        uv = Uv.find(ROOT)
        command = [str(uv.program), "pip", "install", "--quiet", "--python", str(self.programs / "python")]
        command += ["--find-links", str(self.wheels), "--constraint", str(self.locked), *words]
        cached = subprocess.run([*command, "--offline"], env=uv.environment, check=False, capture_output=True)
        if cached.returncode:
            subprocess.run(command, env=uv.environment, check=True)


def made_once(base: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Have a folder made once for all processes of this run; `base` is pytest's own."""
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            make(folder)
            (folder / "done").touch()
    return folder


def build_wheels(folder: Path) -> None:
    """Put the wheels of both projects into one folder."""
    for project in PROJECTS:
        wheel = build(project, "wheel", folder / project)
        wheel.rename(folder / wheel.name)
