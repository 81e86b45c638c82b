"""An environment with the published packages: without the source tree and without unrequested packages."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from pathlib import Path

from tools.offences import ROOT
from tools.release import PROJECTS, build
from tools.uv import Uv

TO_RUN, TO_DEVELOP = (ROOT / "locks" / f"{name}.lock" for name in ("run", "dev"))


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment, and a folder with our wheels."""

    folder: Path
    wheels: Path
    _: KW_ONLY
    locked: Path = TO_RUN
    python: Path = Path(sys.executable)

    @property
    def programs(self) -> Path:
        """The folder of its commands."""
        return self.folder / "bin"

    def make(self) -> None:
        """Make an empty environment, by default for the Python that runs the tests."""
        _uv().run("venv", "--quiet", "--python", str(self.python), str(self.folder))

    def install(self, words: Sequence[str]) -> None:
        """Install what `pip install` with these arguments would: our wheels, and all other packages as locked.

        uv's cache has the packages if this work tree was set up here; only missing ones are downloaded.
        """
        uv = _uv()
        command = [str(uv.program), "pip", "install", "--quiet", "--python", str(self.programs / "python")]
        command += ["--find-links", str(self.wheels), "--constraint", str(self.locked), *words]
        cached = subprocess.run([*command, "--offline"], env=uv.environment, check=False, capture_output=True)
        if cached.returncode:
            subprocess.run(command, env=uv.environment, check=True)


@cache
def _uv() -> Uv:
    """Find uv once: reading pip's settings starts a process."""
    return Uv.find(ROOT)


def made_once(base: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Make a folder once for all processes of this run; `base` is pytest's own."""
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            make(folder)
            (folder / "done").touch()
    return folder


def build_wheels(folder: Path) -> None:
    """Build the wheels of both projects into one folder."""
    for project in PROJECTS:
        wheel = build(project, "wheel", folder / project)
        wheel.rename(folder / wheel.name)
