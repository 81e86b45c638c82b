"""The installer uv in `.venv`. It does not read pip's settings, so they are passed on in its variables."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.errors import run_or_fail

PIP_SECTIONS = ("global", "install", ":env:")
"""A later one counts for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """The uv of a work tree, and its environment."""

    program: Path
    environment: Mapping[str, str]

    @classmethod
    def find(cls, root: Path) -> Uv:
        """Find the uv of `.venv`, and read the settings of the pip next to it."""
        programs = root / ".venv" / "bin"
        list_settings = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "config", "list"]
        ours = os.environ | home_for(root)
        pip_settings = subprocess.run(list_settings, env=ours, check=False, capture_output=True, text=True).stdout
        return cls(program=programs / "uv", environment=uv_settings(pip_settings) | ours)

    def run(self, *words: str) -> None:
        """Run uv. Raises SetupError if it fails; its own message is on stderr."""
        run_or_fail([str(self.program), *words], env=self.environment)


def tools_folder(root: Path) -> Path:
    """Return the folder for files of the tools that are not committed."""
    return root / ".tools"


def home_for(root: Path) -> dict[str, str]:
    """Return a home directory in the work tree for caches, if the user has no writable one."""
    home = os.environ.get("HOME", "")
    return {} if home and os.access(home, os.W_OK | os.X_OK) else {"HOME": str(tools_folder(root) / "home")}


def uv_settings(settings: str) -> dict[str, str]:
    """Translate the indexes and certificates of `pip config list` into uv's variables."""
    pip: dict[str, str] = {}
    for section in PIP_SECTIONS:
        for line in settings.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(f"{section}."):
                pip[name.removeprefix(f"{section}.")] = " ".join(str(ast.literal_eval(value)).split())
    links = pip.get("find-links", "").split()
    wanted = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": pip.get("extra-index-url", ""),
        "UV_FIND_LINKS": ",".join(link for link in links if "://" in link or Path(link).exists()),
        "UV_INSECURE_HOST": pip.get("trusted-host", ""),
        # Like pip: one index does not hide another. The hashes in the lock file identify the files.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if "extra-index-url" in pip else "",
        "SSL_CERT_FILE": pip.get("cert", ""),
    }
    return {name: value for name, value in wanted.items() if value}
