"""Fetches the pinned uv wheel by what the machine has: pip, a pip wheel, an index, or Debian's archive.

`requirements-uv.lock` pins the version and the sha256 of each platform's wheel; no way accepts anything else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import indexes, simple_index
from tools.errors import SetupError

PIN_FILE = "requirements-uv.lock"
PIP_WHEEL_FOLDERS = (Path("/usr/share/python-wheels"), Path("/usr/share/python3-wheels"))
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ADVICE = (
    "set PIP_INDEX_URL (or UV_DEFAULT_INDEX) to a package index that this machine reaches, "
    "or put uv or pip on it, and try again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The one uv that we accept."""

    version: str
    hashes: frozenset[str]
    file: Path

    @classmethod
    def read(cls, root: Path) -> Pin:
        """Read the pin that `./dev lock` wrote."""
        text = (root / PIN_FILE).read_text()
        version = re.search(r"^uv==(\S+)", text, re.MULTILINE)
        if not version:
            raise SetupError(f"{PIN_FILE} pins no uv")
        return cls(
            version=version[1],
            hashes=frozenset(re.findall(r"sha256:([0-9a-f]{64})", text)),
            file=root / PIN_FILE,
        )


class NotThisWay(Exception):
    """One way of fetching does not work here; the message says why."""


def wheel(pin: Pin, workspace: Path, environment: Mapping[str, str]) -> Path:
    """Fetch the wheel by the first way that works. Raises SetupError with all that was tried."""
    reasons = []
    for way in (by_pip, by_pip_wheel, by_index, by_debian):
        try:
            return checked(way(pin, workspace, environment), pin)
        except NotThisWay as reason:
            reasons.append(f"\n  - {way.__name__.replace('_', ' ')}: {reason}")
    raise SetupError(f"uv {pin.version} cannot be fetched:{''.join(reasons)}\n{ADVICE}")


def checked(file: Path, pin: Pin) -> Path:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest not in pin.hashes:
        raise NotThisWay(f"{file.name} has the sha256 {digest}, which {PIN_FILE} does not name")
    return file


def by_pip(pin: Pin, workspace: Path, environment: Mapping[str, str]) -> Path:
    if not importlib.util.find_spec("pip"):
        raise NotThisWay(f"{sys.executable} has no pip")
    return download([sys.executable, "-m", "pip"], pin, workspace, environment)


def by_pip_wheel(pin: Pin, workspace: Path, environment: Mapping[str, str]) -> Path:
    wheels = list(pip_wheels())
    if not wheels:
        raise NotThisWay("there is no pip wheel on this machine")
    return download([sys.executable, f"{wheels[0]}/pip"], pin, workspace, environment)


def pip_wheels() -> Iterator[Path]:
    """The pip wheels that `venv` would use: Python's own, or the distribution's."""
    ensurepip = importlib.util.find_spec("ensurepip")
    own = (Path(ensurepip.origin).parent / "_bundled",) if ensurepip and ensurepip.origin else ()
    for folder in (*own, *PIP_WHEEL_FOLDERS):
        yield from sorted(folder.glob("pip-*.whl"))


def download(pip: list[str], pin: Pin, workspace: Path, environment: Mapping[str, str], *options: str) -> Path:
    command = [*pip, "download", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement",
        str(pin.file),
        "--dest",
        str(workspace),
    ]
    run([*command, *options], {**environment, **indexes.variables_for_pip(environment)})
    return next(workspace.glob("uv-*.whl"))


def by_index(pin: Pin, workspace: Path, environment: Mapping[str, str]) -> Path:
    found = indexes.configured(environment)
    if not found.urls:
        raise NotThisWay("no index is configured in pip's settings or uv's")
    index = simple_index.SimpleIndex(certificates=found.certificates)
    reasons = []
    for url in found.urls:
        try:
            return index.download(url, f"uv-{pin.version}-", workspace)
        except simple_index.IndexFailed as reason:
            reasons.append(str(reason))
    raise NotThisWay("; ".join(reasons))


def by_debian(pin: Pin, workspace: Path, environment: Mapping[str, str]) -> Path:
    """Borrow pip from Debian's archive: unpacked in the workspace, nothing is installed, any user may."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise NotThisWay("this is no Debian")
    unpacked = unpack_from_debian(("python3-pip-whl", "ca-certificates"), workspace, environment)
    wheels = list(unpacked.glob("usr/share/python-wheels/pip-*.whl"))
    if not wheels:
        raise NotThisWay("Debian's python3-pip-whl holds no pip")
    options = () if has_certificates(environment) else ("--cert", str(certificates_from(unpacked)))
    return download([sys.executable, f"{wheels[0]}/pip"], pin, workspace, environment, *options)


def unpack_from_debian(names: tuple[str, ...], workspace: Path, environment: Mapping[str, str]) -> Path:
    apt = workspace / "apt"
    (apt / "lists" / "partial").mkdir(parents=True)
    # Private lists and cache: root's own may be empty, and a user cannot write them.
    private = (
        "-o",
        f"Dir::State::Lists={apt}/lists",
        "-o",
        f"Dir::Cache={apt}/cache",
        "-o",
        "APT::Sandbox::User=",
    )
    run(["apt-get", *private, "--quiet", "update"], environment)
    run(["apt-get", *private, "--quiet", "download", *names], environment, folder=apt)
    for package in apt.glob("*.deb"):
        run(["dpkg-deb", "--extract", str(package), str(apt / "unpacked")], environment)
    return apt / "unpacked"


def has_certificates(environment: Mapping[str, str]) -> bool:
    configured = indexes.variables_for_pip(environment).get("PIP_CERT")
    return bool(configured or SYSTEM_CERTIFICATES.exists())


def certificates_from(unpacked: Path) -> Path:
    """Debian ships the authorities one a file and joins them when installed; here we join them."""
    bundle = unpacked / "certificates.pem"
    authorities = sorted(unpacked.glob("usr/share/ca-certificates/mozilla/*.crt"))
    bundle.write_bytes(b"\n".join(file.read_bytes() for file in authorities))
    return bundle


def run(command: list[str], environment: Mapping[str, str], folder: Path | None = None) -> None:
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotThisWay(f"{Path(command[0]).name} failed: {told(done.stderr)}")


def told(text: str) -> str:
    """A failed command's first and last line, which name the cause and the result, without any password."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"]
    return simple_index.without_password(" ... ".join(dict.fromkeys((lines[0], lines[-1]))))
