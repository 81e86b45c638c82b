"""What a demo is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The size of the demo and what it crawls.

    `upstream` is a URL to crawl instead of the local upstream; `failure_rate` (0 to 1) is the local one's failure dial.
    `once` runs one full cycle and ends. `step_seconds` is the wall time of four simulated hours, at which the menus
    change and every store is fetched again.
    """

    data_dir: Path
    stores: int = 300
    seed: int = 1
    upstream: str | None = None
    failure_rate: float = 0.0
    once: bool = False
    processes: int = 2
    slots: int = 4
    step_seconds: float = 60.0
