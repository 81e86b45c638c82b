"""The systems whose code can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rolecall.model.errors import ConfigError
from rolecall_import.celery import read_celery
from rolecall_import.celery_check import check_celery
from rolecall_import.inventory import Gap, Inventory
from rolecall_import.procrastinate import read_procrastinate
from rolecall_import.rq import read_rq
from rolecall_import.sources import Sources, read_sources

SYSTEMS: Mapping[str, Callable[[Sources], Inventory]] = {
    "celery": read_celery,
    "procrastinate": read_procrastinate,
    "rq": read_rq,
}


CHECKS: Mapping[str, Callable[[Sources], list[Gap]]] = {"celery": check_celery}


def check_code(system: str, path: Path) -> list[Gap]:
    """Return what the compatible API of a system rejects in its code. Raises ConfigError if there is no such API."""
    if system not in CHECKS:
        raise ConfigError(f"--check is for {', '.join(CHECKS)}: {system!r} has no compatible API", variable="--check")
    return CHECKS[system](read_sources(path))


def read_code(system: str, path: Path) -> Inventory:
    """Read a file, or all files below a folder; raises ConfigError for another system, or no such path."""
    if system not in SYSTEMS:
        raise ConfigError(f"{system!r} is not one of {', '.join(SYSTEMS)}", variable="SYSTEM", value=system)
    return SYSTEMS[system](read_sources(path))
