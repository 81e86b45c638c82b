"""Installs Debian's servers for the tests that need them: as root with apt-get, otherwise unpacked in `.tools`.

Installed servers are left unchanged, and the newly installed ones are not started.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.offences import ROOT

PACKAGES = ("postgresql", "pgbouncer", "redis-server", "redis-sentinel", "nats-server", "prometheus")
# Older releases have it only in their backports; without it, its tests are skipped.
VALKEY = ("valkey-server", "valkey-tools")
# Programs that tests start by name, besides Postgres and PgBouncer.
PROGRAMS = ("redis-server", "redis-sentinel", "nats-server", "prometheus", "promtool")
FOLDER = ROOT / ".tools" / "servers"
START_NOTHING = Path("/usr/sbin/policy-rc.d")
REFUSES = "#!/bin/sh\nexit 101\n"
# A package source: its address and its release.
SOURCE = "$(REPO_URI) $(CODENAME)"
TO_INSTALL = re.compile(r"^Inst (\S+)", re.MULTILINE)
# Not on the path of users other than root.
SYSTEM_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
OUR_PATH = f"{FOLDER}/usr/bin:{FOLDER}/usr/sbin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The folder of Postgres's programs, PgBouncer, and the environment in which both find their libraries."""

    postgres: Path
    pgbouncer: Path
    environment: Mapping[str, str] = field(default_factory=dict)


def find() -> Servers | None:
    """Return both servers if they are installed and start: Debian's, those on the path, or ours."""
    for postgres in _folders_of_postgres():
        pgbouncer = _path_of("pgbouncer")
        if pgbouncer:
            found = Servers(postgres=postgres, pgbouncer=pgbouncer, environment=_environment())
            if _runs(postgres / "postgres", found) and _runs(pgbouncer, found):
                return found
    return None


def program(name: str) -> tuple[Path, Mapping[str, str]] | None:
    """Return one of `PROGRAMS` and the environment in which it finds its libraries; None if it is not installed."""
    path = _path_of(name)
    return (path, _environment()) if path else None


def main() -> int:
    """Install the missing servers; return 1 if that is not possible here."""
    for way in (None, _install, _unpack, _unpack_by_own_lists):
        if way:
            way()
        if (found := find()) and not _missing_program():
            _unpack_valkey()
            valkey = "valkey-server" if program("valkey-server") else "no valkey-server"
            print(f"servers: {found.postgres}, {found.pgbouncer}, {', '.join(PROGRAMS)}, {valkey}")
            return 0
    print(f"servers: some are missing; install Debian's {' '.join(PACKAGES)}", file=sys.stderr)
    return 1


def _missing_program() -> list[str]:
    return [name for name in PROGRAMS if not program(name)]


def _path_of(name: str) -> Path | None:
    found = shutil.which(name, path=f"{SYSTEM_PATH}:{OUR_PATH}")
    return Path(found) if found else None


def _folders_of_postgres() -> Iterator[Path]:
    for system in (Path("/"), FOLDER):
        majors = [folder for folder in system.glob("usr/lib/postgresql/*/bin") if folder.parent.name.isdecimal()]
        yield from sorted(majors, key=lambda folder: int(folder.parent.name), reverse=True)
        if system != FOLDER and (on_path := shutil.which("initdb")):
            yield Path(on_path).resolve().parent


def _runs(program: Path, found: Servers) -> bool:
    return _succeeds([program, "--version"], found.environment)


def _environment() -> dict[str, str]:
    libraries = [str(folder) for folder in (*FOLDER.glob("usr/lib/*-linux-*"), *FOLDER.glob("lib/*-linux-*"))]
    return {"LD_LIBRARY_PATH": ":".join(libraries)} if libraries else {}


def _install() -> None:
    if shutil.which("apt-get") and os.geteuid() == 0:
        install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *PACKAGES]
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        with _prevent_start():
            if not _succeeds(install, quiet) and _succeeds(["apt-get", "update", "-qq"]):
                _succeeds(install, quiet)


@contextmanager
def _prevent_start() -> Iterator[None]:
    """Prevent packages from starting services during the installation, which could occupy another program's port."""
    if START_NOTHING.exists():
        yield
        return
    START_NOTHING.write_text(REFUSES, encoding="ascii")
    START_NOTHING.chmod(0o755)
    try:
        yield
    finally:
        START_NOTHING.unlink()


def _unpack() -> None:
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        _fetch_and_unpack(["apt-get"], PACKAGES)


def _unpack_by_own_lists() -> None:
    """Do the same with our own package lists, if the system has none and we cannot update them."""
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        with TemporaryDirectory() as folder:
            apt_get = _apt_get_with_own_lists(folder)
            if _succeeds([*apt_get, "-qq", "update"]):
                _fetch_and_unpack(apt_get, PACKAGES)


def _unpack_valkey() -> None:
    """Download Valkey from this release's package source, or from its backports."""
    if program("valkey-server") or not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return
    _fetch_and_unpack(["apt-get"], VALKEY)
    if program("valkey-server"):
        return
    sources = sorted(
        set(_output_of(["apt-get", "indextargets", "--format", SOURCE, "Created-By: Packages"]).splitlines())
    )
    for source in [source for source in sources if "-" not in source.split()[-1]]:
        with TemporaryDirectory() as folder:
            backports = Path(folder, "sources.list")
            backports.write_text(f"deb {source}-backports main\n", encoding="ascii")
            only = ["-o", f"Dir::Etc::SourceList={backports}", "-o", "Dir::Etc::SourceParts=-"]
            apt_get = [*_apt_get_with_own_lists(folder), *only]
            if _succeeds([*apt_get, "-qq", "update"]):
                _fetch_and_unpack(apt_get, VALKEY)


def _apt_get_with_own_lists(folder: str) -> list[str]:
    for name in ("lists/partial", "cache/archives/partial"):
        Path(folder, name).mkdir(parents=True)
    return ["apt-get", "-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]


def _fetch_and_unpack(apt_get: Sequence[str], wanted: Sequence[str]) -> None:
    missing = TO_INSTALL.findall(_output_of([*apt_get, "-s", "--no-install-recommends", "install", *wanted]))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as packages:
        if missing and _succeeds([*apt_get, "-qq", "download", *missing], folder=Path(packages)):
            for package in Path(packages).glob("*.deb"):
                _succeeds(["dpkg-deb", "-x", package, FOLDER])


def _succeeds(command: Sequence[str | Path], more: Mapping[str, str] | None = None, folder: Path = ROOT) -> bool:
    return _run(command, more or {}, folder).returncode == 0


def _output_of(command: Sequence[str]) -> str:
    return _run(command, {"LC_ALL": "C"}, ROOT).stdout


def _run(command: Sequence[str | Path], more: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
