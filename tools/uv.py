"""uv, the fast installer, as `./dev setup` put it into `.venv`; it reads no settings of pip's, so it is told them."""

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
    """The uv of a work tree, and the environment to run it in."""

    program: Path
    environment: Mapping[str, str]

    @classmethod
    def find(cls, root: Path) -> Uv:
        """Find the uv of `.venv`, and ask the pip beside it for its settings."""
        programs = root / ".venv" / "bin"
        list_settings = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "config", "list"]
        ours = os.environ | home_for(root)
        said = subprocess.run(list_settings, env=ours, check=False, capture_output=True, text=True).stdout
        return cls(program=programs / "uv", environment=told(said) | ours)

    def run(self, *words: str) -> None:
        """Run uv to its end. Raises SetupError; uv has then said why on stderr."""
        run_or_fail([str(self.program), *words], env=self.environment)


def tools_folder(root: Path) -> Path:
    """Where the tools keep what is not worth a commit."""
    return root / ".tools"


def home_for(root: Path) -> dict[str, str]:
    """A home in the work tree, for caches, where the user has none that can be written."""
    home = os.environ.get("HOME", "")
    return {} if home and os.access(home, os.W_OK | os.X_OK) else {"HOME": str(tools_folder(root) / "home")}


def told(settings: str) -> dict[str, str]:
    """Say in uv's variables what `pip config list` says of indexes and certificates."""
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
        # As pip does: one index does not hide another. The hashes in the lock file say which file is meant.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if "extra-index-url" in pip else "",
        "SSL_CERT_FILE": pip.get("cert", ""),
    }
    return {name: value for name, value in wanted.items() if value}
