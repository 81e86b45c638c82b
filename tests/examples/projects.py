"""A project of `examples` as its team has it: a folder and an environment with our wheel and its dependencies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.packaging.installing import TO_DEVELOP, Environment
from tools.offences import ROOT
from tools.release import build

EXAMPLES = ROOT / "examples"
PATIENCE = 120.0
LONGEST = 280.0
# Variables of a developer's shell. Those for Rolecall are added to them.
INHERITED = ("HOME", "LANG", "PATH", "SSL_CERT_FILE", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Project:
    """The folder and the environment."""

    folder: Path
    environment: Environment

    def run(self, *words: str, **variables: str) -> str:
        """Run one of the environment's programs, which must succeed; return its output."""
        done = subprocess.run(
            self._command(words),
            cwd=self.folder,
            env=self._variables(variables),
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
        )
        assert done.returncode == 0, f"$ {' '.join(words)}\n{done.stdout}"
        return done.stdout

    @contextmanager
    def running(self, *words: str, **variables: str) -> Iterator[Program]:
        """Run a program during the block. It is stopped as by a service manager, and must exit in time."""
        log = self.folder / f"{words[0]}.log"
        with log.open("wb") as terminal:
            process = subprocess.Popen(
                self._command(words),
                cwd=self.folder,
                env=self._variables(variables),
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=terminal,
            )
        try:
            yield Program(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait()

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [str(self.environment.programs / words[0]), *words[1:]]

    def _variables(self, own: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return {**inherited, "PATH": f"{self.environment.programs}:{inherited['PATH']}", **own}


@dataclass(frozen=True, slots=True)
class Program:
    """A running program with its output so far."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for_line(self, words: str) -> str:
        """Wait until the program has written these words; return the line."""
        deadline = time.monotonic() + PATIENCE
        while True:
            lines = self.log.read_text().splitlines()
            if found := next((line for line in lines if words in line), None):
                return found
            assert self.process.poll() is None, f"the program has exited:\n{self.log.read_text()}"
            assert time.monotonic() < deadline, f"the program never writes {words!r}:\n{self.log.read_text()}"
            time.sleep(0.05)


def project_in(folder: Path, example: str) -> Project:
    """Return the project in a folder that `make_project` has filled."""
    return Project(folder / example, Environment(folder / "venv", folder / "wheels", locked=TO_DEVELOP))


def make_project(folder: Path, example: str, *words: str) -> None:
    """Copy an example, and install what `pip install` with these arguments would, with our wheel available."""
    project = project_in(folder, example)
    shutil.copytree(
        EXAMPLES / example, project.folder, ignore=shutil.ignore_patterns("__pycache__", ".*_cache", "rolecall-data")
    )
    project.environment.wheels.mkdir()
    build("rolecall", "wheel", project.environment.wheels)
    project.environment.make()
    project.environment.install([word.replace("./", f"{project.folder}/") for word in words])
