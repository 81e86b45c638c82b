"""A simulated reader of a document: writes its files, types its commands, and compares the output."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.guides.blocks import Block
from tests.guides.not_run import reason
from tests.packaging.installing import Environment

PATIENCE = 90.0
# These commands run until they are stopped. The last one writes output as long as it runs.
STAYS = re.compile(
    r"([A-Z_]+=\S+ )*(rolecall )?(?P<verb>(?<=rolecall )(up|serve|worker)\b(?!.* --until-idle)|uvicorn\b|flask\b)"
)
STREAMS = re.compile(r"curl .*-N\b|curl -N\b")
# The last message of `up`: the API starts before the worker, which has declared its handlers by then.
READY = {
    "flask": "Running on",
    "serve": "The API is served at",
    "up": "Starting worker",
    "uvicorn": "Application startup complete",
    "worker": "Starting worker",
}
KEPT = re.compile(r"(export )?\w+=")
INSTALLS = "pip install "
PATH = "/usr/local/bin:/usr/bin:/bin"
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(slots=True, kw_only=True)
class Reader:
    """A reader in an empty folder. Code listed in `not_run` is skipped."""

    document: str
    folder: Path
    environment: Environment
    variables: Mapping[str, str]
    database: str | None = None
    _file: str | None = None
    _written: list[str] = field(default_factory=list)
    _used: set[str] = field(default_factory=set)
    _kept: list[str] = field(default_factory=list)
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def follow(self, blocks: Iterable[Block]) -> None:
        """Follow the document from beginning to end."""
        for block in blocks:
            if reason(self.document, block.code):
                continue
            if block.language == "python":
                self.write(block)
            elif block.language == "sql":
                self.ask(block.code)
            elif block.language == "console":
                self.hold_a_dialogue(block.code)
            elif block.language == "sh":
                for line in commands_in(block.code):
                    self.type(line)
            else:
                assert block.language in {"text", "picture"}, (
                    f"{self.document}:{block.line}: nothing runs {block.language!r}"
                )
        for name in self._written:
            # A file in a folder is part of a package, which other files import.
            if name not in self._used and "/" not in name:
                self.run(f"python {name}")

    def write(self, block: Block) -> None:
        """Write Python to the file that it names, or append it to the last one."""
        self._file = block.file or self._file or f"{Path(self.document).stem.replace('-', '_')}.py"
        if self._file not in self._written:
            self._written.append(self._file)
        (self.folder / self._file).parent.mkdir(exist_ok=True)
        with (self.folder / self._file).open("a") as file:
            file.write(f"{block.code}\n\n")

    def ask(self, statements: str) -> None:
        """Run SQL as psql would."""
        assert self.database is not None
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute(statements.encode())

    def hold_a_dialogue(self, text: str) -> None:
        """Type the command after each `$`, and compare its output with the lines below; `...` matches anything."""
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, wanted = part.partition("\n")
            self.type(line, wanted)

    def type(self, line: str, wanted: str = "") -> None:
        """Type one command, unless it cannot be run here."""
        if reason(self.document, line):
            return
        if line.startswith(INSTALLS):
            self.environment.install(shlex.split(line.removeprefix(INSTALLS), comments=True))
        elif KEPT.match(line) and not STAYS.match(line):
            self._kept.append(line)
        elif stays := STAYS.match(line):
            self.start(line, wanted or f"...{READY[stays['verb']]}")
        elif STREAMS.search(line):
            self.listen(line)
        else:
            result = self.run(line)
            assert doctest.OutputChecker().check_output(wanted, result, ALIKE) or not wanted, f"$ {line}\n{result}"

    def run(self, line: str) -> str:
        """Run a command, which must succeed; return its terminal output."""
        done = subprocess.run(
            self._command(line), cwd=self.folder, env=self.variables, check=False, capture_output=True, timeout=PATIENCE
        )
        result = (done.stdout + done.stderr).decode()
        assert done.returncode == 0, f"$ {line}\n{result}"
        return result

    def start(self, line: str, wanted: str) -> None:
        """Start a long-running command, as in another terminal, and wait for its expected message."""
        log = self.folder / f"terminal-{len(self._running)}.log"
        process = self._spawn(line, log)
        self._running.append(process)
        checker = doctest.OutputChecker()

        def is_ready() -> bool:
            result = log.read_text()
            assert process.poll() is None, f"$ {line}\n{result}"
            return checker.check_output(f"{wanted}...\n", result, ALIKE)

        until(is_ready, lambda: f"$ {line}\n{log.read_text()}")

    def listen(self, line: str) -> None:
        """Run a command with endless output until its first line."""
        log = self.folder / "stream.log"
        process = self._spawn(line, log)
        try:
            until(lambda: bool(log.read_text()), lambda: f"$ {line} says nothing")
        finally:
            stop(process)

    def leave(self) -> None:
        """Press Ctrl-C in each terminal."""
        for process in reversed(self._running):
            stop(process)

    def _command(self, line: str) -> list[str]:
        self._used |= {name for name in self._written if name in line or f"{Path(name).stem}:" in line}
        return ["bash", "-euo", "pipefail", "-c", "\n".join([*self._kept, line])]

    def _spawn(self, line: str, log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as terminal:
            return subprocess.Popen(
                self._command(f"exec {line}" if line[0].islower() else line),
                cwd=self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=terminal,
                start_new_session=True,
            )


def commands_in(code: str) -> list[str]:
    """Return the commands of a block. Lines that end in a backslash are joined with the next."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def until(fact: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)


def free_ports(number: int) -> list[int]:
    """Return ports that are free at this moment."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in taken]


def stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a command and its children; kill those that do not exit."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(PATIENCE / 3)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
        break
    process.wait()
