"""Installs a Chromium for the tests that drive one, in the first way that works here: from Debian, otherwise from npm.

An installed browser is left unchanged. Debian's needs root; npm's needs Node.js, and is installed in `.tools`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tools.offences import ROOT

VARIABLE = "ROLECALL_TEST_BROWSER"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FOLDER = ROOT / ".tools" / "browser"
DEBIAN_PACKAGE = "chromium-headless-shell"
NPM_PACKAGE = "@sparticuz/chromium@147.0.0"
UNPACK = "import('@sparticuz/chromium').then((found) => found.default.executablePath())"


def find() -> str | None:
    """Return the browser for the tests: the configured one, one on the path, or ours."""
    on_path = (found for name in NAMES if (found := shutil.which(name)))
    return os.environ.get(VARIABLE) or next(on_path, None) or shutil.which(FOLDER / "chromium")


def main() -> int:
    """Install a browser if there is none; return 1 if that is not possible here."""
    for way in (None, by_debian, by_npm):
        if way:
            way()
        if (found := find()) and runs(found):
            print(f"browser: {found}")
            return 0
    print(f"browser: none; install Debian's {DEBIAN_PACKAGE}, or Node.js with npm, or set {VARIABLE}", file=sys.stderr)
    return 1


def runs(path: str) -> bool:
    """Return whether it starts: its libraries may be missing."""
    return succeeds([path, "--no-sandbox", "--version"])


def by_debian() -> None:
    if shutil.which("apt-get") and os.geteuid() == 0:
        install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", DEBIAN_PACKAGE]
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        if not succeeds(install, quiet) and succeeds(["apt-get", "update", "-qq"]):
            succeeds(install, quiet)


def by_npm() -> None:
    if shutil.which("npm") and shutil.which("node"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--silent", NPM_PACKAGE]
        if succeeds(install):
            succeeds(["node", "-e", UNPACK], {"TMPDIR": str(FOLDER)})


def succeeds(command: Sequence[str], more: Mapping[str, str] | None = None) -> bool:
    """Run a command in our folder without output."""
    folder = FOLDER if FOLDER.exists() else ROOT
    done = subprocess.run(command, cwd=folder, env={**os.environ, **(more or {})}, capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
