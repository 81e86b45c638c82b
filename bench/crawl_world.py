"""The environment of the crawl benchmark: a database, an upstream and workers, each kind in separate processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
from storecrawl.egress.repository import ensure_direct
from storecrawl.migrations import MIGRATIONS
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from bench.crawl_sampler import FOLDER
from bench.server import OPTIONS, Server
from rolecall import migrate

ROOT = Path(__file__).resolve().parent.parent
APP = "bench.crawl_app:app"
STOP_SECONDS = 60.0
# The benchmark's upstream needs no politeness.
AT_WILL = 1_000_000.0
AT_ONCE = 0.000_001
SERVER = replace(OPTIONS, extra={**OPTIONS.extra, "shared_preload_libraries": "pg_stat_statements"})
"""The throw-away server of the other benchmarks, which also counts what each statement costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSizes:
    """The amount of crawling and the number of workers.

    `products` is the length of each menu, `changing` the fraction of it that changes between two cycles. After each
    part, rows are counted only after `settling` seconds.
    """

    stores: int = 5_000
    products: int = 400
    cycles: int = 2
    changing: float = 0.02
    workers: int = 2
    slots: int = 6
    settling: float = 11.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The running processes, identified by their sessions."""

    server: Server
    folder: Path
    address: str
    upstream: int
    workers: tuple[int, ...]
    settings: CrawlSettings

    @property
    def samples(self) -> Path:
        """The folder of the workers' samples."""
        return self.folder / "samples"

    @property
    def payloads(self) -> Path:
        """The folder of the workers' payload files."""
        return self.folder / "payloads"

    def next_step(self) -> None:
        """Advance the upstream's clock by four hours."""
        httpx2.post(f"{self.address}/_control/advance", json={"steps": 1}).raise_for_status()


@contextmanager
def crawl_world(server: Server, folder: Path, sizes: CrawlSizes) -> Iterator[World]:
    """Prepare the server's database and start the upstream and the workers; all of them end with the block."""
    _prepare(server)
    samples = folder / "samples"
    samples.mkdir()
    with ExitStack() as stack:
        upstream = stack.enter_context(_running("storecrawl.demo.upstream", *_upstream_flags(sizes)))
        address = (upstream.stdout or sys.stdin).readline().strip()
        settings = _settings(address, folder)
        environment = {**settings.to_environment(), "DATABASE_URL": server.dsn, FOLDER: str(samples)}
        words = ("rolecall", "worker", "--app", APP, "--slots", str(sizes.slots), "--log-level", "warning")
        workers = [stack.enter_context(_running(*words, environment=environment)) for _ in range(sizes.workers)]
        yield World(
            server=server,
            folder=folder,
            address=address,
            upstream=upstream.pid,
            workers=tuple(worker.pid for worker in workers),
            settings=settings,
        )


def _prepare(server: Server) -> None:
    server.empty()
    with server.connect(server.dsn) as connection:
        migrate(connection)
        migrate(connection, MIGRATIONS)
        ensure_direct(connection)
        connection.execute("create extension pg_stat_statements")


def _upstream_flags(sizes: CrawlSizes) -> Sequence[str]:
    menu = {f"--menu-{name}": sizes.products for name in ("smallest", "median", "largest")}
    flags = {"--port": 0, "--stores": sizes.stores, **menu, "--changing-share": sizes.changing, "--step-seconds": 0}
    flags["--parent"] = os.getpid()
    return [str(part) for flag in flags.items() for part in flag]


def _settings(address: str, folder: Path) -> CrawlSettings:
    return CrawlSettings(
        platforms={"dutchie": PlatformSettings(upstream=address)},
        data_dir=folder,
        fetch_every=1.0,
        dark_rounds=1_000_000,
        fetch_batches=1,
        schedules=False,
        retry_first=0.5,
        page_pause=AT_ONCE,
        backoff=0.05,
        host_rate=AT_WILL,
        store_rate=AT_WILL,
    )


@contextmanager
def _running(module: str, *words: str, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=STOP_SECONDS)
