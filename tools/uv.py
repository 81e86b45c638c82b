"""uv, the installer: the one on this machine when it is new enough, else the pinned one, kept in `.tools`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import fetch_uv, indexes
from tools.errors import SetupError


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """A uv that runs, and the environment to run it in."""

    program: Path
    environment: Mapping[str, str]

    @classmethod
    def find(cls, root: Path, say: Callable[[str], None]) -> Uv:
        """Find a uv that is new enough, or fetch the pinned one. Raises SetupError."""
        environment = with_writable_home(os.environ, tools_folder(root))
        pin = fetch_uv.Pin.read(root)
        kept = tools_folder(root) / f"uv-{pin.version}"
        found = first_good((shutil.which("uv"), str(kept)), pin.version, environment)
        if not found:
            say(f"fetching uv {pin.version}")
            with tempfile.TemporaryDirectory(dir=tools_folder(root)) as workspace:
                unpack(fetch_uv.wheel(pin, Path(workspace), environment), kept)
            found = first_good((str(kept),), pin.version, environment)
        if not found:
            raise SetupError(f"the uv that was fetched does not run on this machine: {kept}")
        return cls(program=found, environment=environment | indexes.variables_for_uv(environment))

    def run(self, *words: str) -> None:
        """Run uv to its end. Raises SetupError; uv has then said why on stderr."""
        command = [str(self.program), *words]
        if subprocess.run(command, env=self.environment, check=False).returncode:
            raise SetupError(f"this command failed, see above: {' '.join(command)}")

    def loudness(self) -> tuple[str, ...]:
        """uv's progress bars are for people; a log needs only its errors."""
        return () if os.isatty(2) else ("--quiet",)


def tools_folder(root: Path) -> Path:
    return root / ".tools"


def with_writable_home(environment: Mapping[str, str], spare: Path) -> dict[str, str]:
    """Give uv and pip a home and a cache in the work tree where the user has none that can be written."""
    result = dict(environment)
    home = environment.get("HOME", "")
    if not (home and os.access(home, os.W_OK | os.X_OK)):
        result["HOME"] = str(spare / "home")
        result.setdefault("UV_CACHE_DIR", str(spare / "cache"))
    return result


def first_good(candidates: tuple[str | None, ...], version: str, environment: Mapping[str, str]) -> Path | None:
    """The first candidate that runs and is not older than the pinned version."""
    for candidate in filter(None, candidates):
        try:
            answer = subprocess.run(
                [candidate, "--version"], env=environment, capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        if answer.returncode == 0 and numbers(answer.stdout) >= numbers(version):
            return Path(candidate)
    return None


def numbers(version: str) -> tuple[int, ...]:
    found = re.search(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def unpack(wheel: Path, program: Path) -> None:
    """Take uv out of its wheel; the rename makes it appear whole or not at all."""
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".data/scripts/uv"))
        fresh = wheel.with_name("uv")
        fresh.write_bytes(archive.read(member))
    fresh.chmod(0o755)
    fresh.replace(program)
