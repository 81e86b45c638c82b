"""Settings from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The database's address (through PgBouncer), and whether the web process also runs a worker."""

    database_url: str
    worker_inside: bool = False

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings. Raises KeyError if one is missing."""
        return cls(
            database_url=environ["DATABASE_URL"],
            worker_inside=environ.get("SHOP_WORKER_INSIDE", "no") == "yes",
        )
