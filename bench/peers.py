"""The peers: the entries of peers.toml, their environments, and calls of their adapters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.bootstrap import base_interpreter
from tools.errors import SetupError, run_or_fail
from tools.uv import Uv, tools_folder

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ADAPTER_SECONDS = 600
TIMEOUT_MARGIN = 30

Answer = dict[str, Any]


class AdapterFailed(Exception):
    """An adapter returned no result; the message is the end of its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One entry of peers.toml; the queue gets `times` as many tasks for it, so that a fast peer is busy long enough.

    It is measured in `works`, or in all of them if that is empty. Its environment contains `packages` for Python, or
    `modules` for Node.
    """

    name: str
    script: str
    times: int = 1
    works: frozenset[str] = frozenset()
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    env: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The interpreter of the peer's own environment, or this one."""
        return self._folder / "bin" / "python" if self.packages else Path(sys.executable)

    def prepare(self) -> None:
        """Create the peer's environment unless it exists. Raises SetupError."""
        stamp = self._folder / "installed"
        wanted = "\n".join(self.packages + self.modules)
        if not wanted or (stamp.exists() and stamp.read_text() == wanted):
            return
        _say(f"installing {self.name}")
        self._folder.mkdir(parents=True, exist_ok=True)
        if self.modules:
            _install_modules(self._folder, self.modules)
        else:
            uv = Uv.find(ROOT)
            uv.run("venv", "--quiet", "--clear", "--python", base_interpreter(), str(self._folder))
            uv.run("pip", "install", "--quiet", "--python", str(self.python), *self.packages)
        stamp.write_text(wanted)

    def ask(self, *words: str, environment: Mapping[str, str], seconds: float = ADAPTER_SECONDS) -> Answer:
        """Run a subcommand of the adapter and return its result. Raises AdapterFailed."""
        modules = {"BENCH_NODE_MODULES": str(self._folder / "node_modules")}
        command = [str(self.python), str(HERE / self.script), *words]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **modules, **self.env, **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds + TIMEOUT_MARGIN,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise AdapterFailed(f"{self.name} {words[0]}: no answer after {error.timeout:g} s") from error
        for line in reversed(done.stdout.splitlines()):
            if done.returncode == 0 and line.startswith("{"):
                return dict(json.loads(line))
        raise AdapterFailed(f"{self.name} {words[0]}: {(done.stderr or done.stdout)[-800:]}")

    @property
    def _folder(self) -> Path:
        return tools_folder(ROOT) / "bench" / self.name


def known_peers() -> dict[str, Peer]:
    """Read peers.toml; a variant inherits all settings that it omits from its peer."""
    known = {}
    for name, entry in tomllib.loads((HERE / "peers.toml").read_text()).items():
        known[name] = _peer(name, entry)
        for variant, changes in entry.get("variants", {}).items():
            known[f"{name}-{variant}"] = _peer(f"{name}-{variant}", entry | changes)
    return known


def _peer(name: str, entry: Mapping[str, Any]) -> Peer:
    env = {variable: str(value) for variable, value in entry.get("env", {}).items()}
    return Peer(
        name=name,
        script=entry["script"],
        times=entry.get("times", 1),
        works=frozenset(entry.get("works", ())),
        packages=tuple(entry.get("packages", ())),
        modules=tuple(entry.get("modules", ())),
        env=env,
    )


def _install_modules(folder: Path, modules: tuple[str, ...]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("npm is not installed")
    run_or_fail([npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", *modules])


def _say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)
