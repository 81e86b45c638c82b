"""Which systems' code can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rolecall.foreign_code.celery import read_celery
from rolecall.foreign_code.inventory import Inventory
from rolecall.foreign_code.procrastinate import read_procrastinate
from rolecall.foreign_code.rq import read_rq
from rolecall.foreign_code.sources import Sources, read_sources
from rolecall.model.errors import ConfigError

__all__ = ["SYSTEMS", "read_code"]

SYSTEMS: Mapping[str, Callable[[Sources], Inventory]] = {
    "celery": read_celery,
    "procrastinate": read_procrastinate,
    "rq": read_rq,
}


def read_code(system: str, path: Path) -> Inventory:
    """Read a file, or all files below a folder; raises ConfigError for another system, or no such path."""
    if system not in SYSTEMS:
        raise ConfigError(f"{system!r} is none of {', '.join(SYSTEMS)}", variable="SYSTEM", value=system)
    return SYSTEMS[system](read_sources(path))
