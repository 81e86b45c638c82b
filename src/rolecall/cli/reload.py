"""`--reload`: runs a command in a child process and restarts it when the code changes.

    start ──▶ running ──a file has changed──▶ SIGTERM: running tasks may finish ──▶ start
                 │
                 └──exit with an error (the app cannot be imported)──▶ wait for a change ──▶ start

Each start is a new process, so that no old code remains.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Protocol, cast

from typer import Exit, Option

from rolecall.extras import require
from rolecall.model.errors import ConfigError
from rolecall.worker.loop import run
from rolecall.worker.signals import stop_on_signals
from rolecall.worker.supervisor import STOPPED_EARLY, Command, start_process

Reload = Annotated[bool, Option("--reload", help="For development: restart when the code changes.")]
ReloadDirs = Annotated[
    list[Path] | None,
    Option("--reload-dir", metavar="DIR", help="Watch this folder instead of the working directory. Repeatable."),
]

# Without bytecode: a .pyc file is compared by seconds and would hide a second change within one.
UNCOMPILED = {"PYTHONDONTWRITEBYTECODE": "1"}
MARK_OF_AN_ENVIRONMENT = "pyvenv.cfg"

log = logging.getLogger("rolecall.reload")


class Watches(Protocol):
    """The part of `watchfiles` used here."""

    def awatch(
        self, *paths: Path, watch_filter: Callable[[object, str], bool], stop_event: asyncio.Event
    ) -> AsyncIterator[set[tuple[object, str]]]:
        """Yield changes shortly after they happen, until the event is set."""

    def PythonFilter(self) -> Callable[[object, str], bool]: ...  # noqa: N802 - it is a class


def wants_reload(*, reload: bool, folders: Sequence[Path] | None) -> bool:
    """Return whether to reload. Raises ConfigError for folders without `--reload`."""
    if folders and not reload:
        raise ConfigError("needs --reload", variable="--reload-dir", value=str(folders[0]))
    return reload


def run_and_reload(command: Command, folders: Sequence[Path] | None) -> None:
    """Run a command until it is stopped or exits with 0, and restart it when a Python file changes.

    Raises ConfigError if the extra is not installed or a folder does not exist, and Exit with the last exit code.
    """
    watcher = _load()
    for folder in folders or ():
        if not folder.is_dir():
            raise ConfigError("is not a folder", variable="--reload-dir", value=str(folder))
    if code := run(Reloader(command, watcher, list(folders or [Path.cwd()])).run()):
        raise Exit(code)


class Reloader:
    """A process and the watch over its code."""

    def __init__(self, command: Command, watcher: Watches, folders: Sequence[Path]) -> None:
        self._command = command
        self._watcher = watcher
        self._folders = folders
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()

    @property
    def stopping(self) -> bool:
        """True once `stop` was called."""
        return self._stopping.is_set()

    def stop(self, *, now: bool = False) -> None:
        """End the process with SIGTERM, or with SIGKILL if `now`."""
        self._stopping.set()
        if now:
            self._send(signal.SIGKILL)

    async def run(self) -> int:
        """Run and watch until a stop signal. Return the exit code of the last process."""
        with stop_on_signals(self):
            watch = asyncio.create_task(self._watch())
            log.info("Restarting on changes below %s", ", ".join(str(folder.absolute()) for folder in self._folders))
            try:
                return await self._run_repeatedly()
            finally:
                self._stopping.set()
                await watch

    async def _run_repeatedly(self) -> int:
        code = 0
        while not self.stopping:
            self._changed.clear()
            code = await self._run_once()
            if code == 0 and not self._changed.is_set():
                break
            if not (self._stopping.is_set() or self._changed.is_set()):
                log.warning("%s ended with %d; it restarts when the code changes", self._command.name, code)
                await self._change_or_stop()
        return 0 if code in STOPPED_EARLY else max(code, -code)

    async def _run_once(self) -> int:
        process = self._process = await start_process(self._command)
        ending = asyncio.create_task(process.wait())
        changing = asyncio.create_task(self._change_or_stop())
        await asyncio.wait({ending, changing}, return_when=asyncio.FIRST_COMPLETED)
        changing.cancel()
        if not ending.done():
            self._send(signal.SIGTERM)
        return await ending

    async def _change_or_stop(self) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (self._changed, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _watch(self) -> None:
        changes = self._watcher.awatch(
            *self._folders, watch_filter=_code_filter(self._watcher), stop_event=self._stopping
        )
        try:
            async for changed in changes:
                names = sorted({Path(path).name for _, path in changed})
                log.info("%s changed: restarting", names[0] if len(names) == 1 else f"{len(names)} files")
                self._changed.set()
        except (OSError, RuntimeError) as error:
            # For example when the limit of inotify watches is reached. The process keeps running.
            log.error("No longer watching for changes: %s", error)  # noqa: TRY400 - not a bug

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)


def _load() -> Watches:
    require("reload")
    # Imported by name, so that only `--reload` waits for the import.
    return cast("Watches", import_module("watchfiles"))


def _code_filter(watcher: Watches) -> Callable[[object, str], bool]:
    python = watcher.PythonFilter()
    return lambda change, path: python(change, path) and is_own_code(Path(path))


def is_own_code(file: Path) -> bool:
    """Return whether the file is outside of virtual environments."""
    return not any((folder / MARK_OF_AN_ENVIRONMENT).exists() for folder in file.parents)
