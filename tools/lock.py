"""Writes the files in `locks`: the runtime packages, their lowest versions, the development and installer packages.

Each file serves all platforms and every Python from 3.11. It contains names, versions and hashes, but no addresses.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tools.uv import Uv

ROOT = Path(__file__).resolve().parent.parent
COMMON = (
    "--quiet",
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--custom-compile-command=./dev lock",
)
OURS = ("--no-emit-package=rolecall", "pyproject.toml", "apps/storecrawl/pyproject.toml", "--all-extras")
# An additional index may have only some files of a version, and would hide the hashes of the others.
SIDE_INDEXES = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
LOCKS = {
    "locks/run.lock": OURS,
    "locks/dev.lock": (*OURS, "--constraint=locks/run.lock", "--group=pyproject.toml:dev"),
    "locks/lowest.lock": (
        *OURS,
        "--resolution=lowest-direct",
        "--group=pyproject.toml:test",
    ),
    "locks/bootstrap.lock": ("--group=pyproject.toml:bootstrap",),
}


def main(options: list[str]) -> int:
    """Write each file, with its current versions unless `--upgrade` is among the options."""
    found = Uv.find(ROOT)
    main_index_only = {name: value for name, value in found.environment.items() if name not in SIDE_INDEXES}
    maker = replace(found, environment=main_index_only)
    for name, sources in LOCKS.items():
        maker.run("pip", "compile", *COMMON, *sources, f"--output-file={name}", *options)
        print(f"lock: {name} has {(ROOT / name).read_text().count('==')} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
