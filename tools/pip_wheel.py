"""Finds a pip for the bootstrap: the wheel that comes with Python or the distribution, or Debian's, downloaded.

It only installs the hashed packages of `locks/bootstrap.lock`, so its version does not matter.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.errors import SetupError

DISTRIBUTIONS = Path("/usr/share/python-wheels")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@contextmanager
def find_pip(workspace: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield a pip wheel, which Python can run directly, and the options that it needs. Raises SetupError."""
    if wheels := [wheel for folder in find_bundled() for wheel in sorted(folder.glob("pip-*.whl"))]:
        yield wheels[0], []
        return
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise SetupError("this Python has neither ensurepip nor a pip wheel; install its venv or pip, and try again")
    with TemporaryDirectory(dir=workspace) as folder:
        yield from_debian(Path(folder))


def find_bundled() -> list[Path]:
    """Return the paths where `venv` may find a pip wheel."""
    ensurepip = importlib.util.find_spec("ensurepip")
    own = [Path(ensurepip.origin).parent / "_bundled"] if ensurepip and ensurepip.origin else []
    return [*own, DISTRIBUTIONS]


def from_debian(folder: Path) -> tuple[Path, list[str]]:
    """Unpack Debian's wheel without installing it, as any user. Uses own package lists, because root's may be empty."""
    (folder / "lists" / "partial").mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
    apt += ["-o", "APT::Sandbox::User="]
    for command in ([*apt, "update"], [*apt, "download", "python3-pip-whl", "ca-certificates"]):
        if subprocess.run(command, cwd=folder, check=False).returncode:
            raise SetupError(f"there is no pip, and Debian's could not be downloaded: {' '.join(command)}")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    [wheel] = folder.glob("usr/share/python-wheels/pip-*.whl")
    if CERTIFICATES.exists() or "PIP_CERT" in os.environ:
        return wheel, []
    # Debian combines the authorities into one file only when the package is installed.
    authorities = sorted(folder.glob("usr/share/ca-certificates/mozilla/*.crt"))
    (folder / "ca.pem").write_bytes(b"\n".join(file.read_bytes() for file in authorities))
    return wheel, ["--cert", str(folder / "ca.pem")]
