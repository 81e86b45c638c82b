"""The peers: what stands in peers.toml, their environments, and calls of their adapters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.bootstrap import base_interpreter
from tools.uv import Uv, tools_folder

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ADAPTER_SECONDS = 600
TIMEOUT_MARGIN = 30

Answer = dict[str, Any]


class AdapterFailed(Exception):
    """An adapter gave no answer; the message is the end of what it said instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One entry of peers.toml; `times` as many tasks are queued for it, so that a fast one is busy long enough."""

    name: str
    script: str
    times: int = 1
    packages: tuple[str, ...] = ()
    env: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The interpreter of the peer's own environment, or this one."""
        return self._venv / "bin" / "python" if self.packages else Path(sys.executable)

    def prepare(self) -> None:
        """Make the peer's environment unless it is there. Raises SetupError."""
        stamp = self._venv / "installed"
        wanted = "\n".join(self.packages)
        if not self.packages or (stamp.exists() and stamp.read_text() == wanted):
            return
        tools_folder(ROOT).mkdir(exist_ok=True)
        _say(f"installing {self.name}")
        uv = Uv.find(ROOT)
        uv.run("venv", "--quiet", "--clear", "--python", base_interpreter(), str(self._venv))
        uv.run("pip", "install", "--quiet", "--python", str(self.python), *self.packages)
        stamp.write_text(wanted)

    def ask(self, *words: str, environment: Mapping[str, str], seconds: float = ADAPTER_SECONDS) -> Answer:
        """Run a subcommand of the adapter and return its answer. Raises AdapterFailed."""
        command = [str(self.python), str(HERE / self.script), *words]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **self.env, **environment},
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
    def _venv(self) -> Path:
        return tools_folder(ROOT) / "bench" / self.name


def known_peers() -> dict[str, Peer]:
    """Read peers.toml."""
    entries = tomllib.loads((HERE / "peers.toml").read_text())
    return {name: _peer(name, entry) for name, entry in entries.items()}


def _peer(name: str, entry: Mapping[str, Any]) -> Peer:
    env = {variable: str(value) for variable, value in entry.get("env", {}).items()}
    return Peer(
        name=name,
        script=entry["script"],
        times=entry.get("times", 1),
        packages=tuple(entry.get("packages", ())),
        env=env,
    )


def _say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)
