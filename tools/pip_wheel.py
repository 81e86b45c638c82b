"""A pip to begin with: the wheel that comes with Python or the distribution, or Debian's, unpacked beside us.

It only installs what `locks/bootstrap.lock` names by its hash, so it does not matter how old it is.
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
    """Yield a pip wheel, which Python can run as it is, and the options that it needs. Raises SetupError."""
    if wheels := [wheel for folder in bundled() for wheel in sorted(folder.glob("pip-*.whl"))]:
        yield wheels[0], []
        return
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise SetupError("this Python has neither ensurepip nor a pip wheel; install its venv or pip, and try again")
    with TemporaryDirectory(dir=workspace) as folder:
        yield from_debian(Path(folder))


def bundled() -> list[Path]:
    """Where a pip may lie already, for `venv` to use."""
    ensurepip = importlib.util.find_spec("ensurepip")
    own = [Path(ensurepip.origin).parent / "_bundled"] if ensurepip and ensurepip.origin else []
    return [*own, DISTRIBUTIONS]


def from_debian(folder: Path) -> tuple[Path, list[str]]:
    """Unpack Debian's wheel: nothing is installed, and any user may. The lists are our own, as root's may be empty."""
    (folder / "lists" / "partial").mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
    apt += ["-o", "APT::Sandbox::User="]
    for command in ([*apt, "update"], [*apt, "download", "python3-pip-whl", "ca-certificates"]):
        if subprocess.run(command, cwd=folder, check=False).returncode:
            raise SetupError(f"there is no pip here, and Debian's could not be had: {' '.join(command)}")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    [wheel] = folder.glob("usr/share/python-wheels/pip-*.whl")
    if CERTIFICATES.exists() or "PIP_CERT" in os.environ:
        return wheel, []
    # Debian joins the authorities into one file as it installs them.
    authorities = sorted(folder.glob("usr/share/ca-certificates/mozilla/*.crt"))
    (folder / "ca.pem").write_bytes(b"\n".join(file.read_bytes() for file in authorities))
    return wheel, ["--cert", str(folder / "ca.pem")]
