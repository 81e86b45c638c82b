"""Measures how fast the dashboard's pages open on a full pool, and what an open page costs: `bench/pages.py`.

Wall times depend on other load on the machine; CPU time is more stable. `--keep FOLDER` keeps the filled database
for the next run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx2
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.full_pool import FullPool, full_pool  # noqa: E402 - this file is run as a script
from bench.processes import cpu_of_server, cpu_of_sessions  # noqa: E402
from bench.server import Server, server_in, throw_away_server  # noqa: E402
from bench.watched import Site, looking_at, serving, working  # noqa: E402
from rolecall.model.operator.pages import write_cursor  # noqa: E402
from tests.web.matrix import read_table  # noqa: E402

ROUTES = ROOT / "tests" / "dashboard" / "routes.txt"
REPEATS = 5
LIMIT_SECONDS = 0.5
LIMIT_CPU_SECONDS = 0.2
LIMIT_SHARE = 0.01
SETTLING_SECONDS = 8.0
TASKS_A_SECOND = 200
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The responses for a page: wall seconds of each, CPU seconds of one by Postgres and by the web server.

    The first response is measured without caches and prepared statements.
    """

    address: str
    status: int
    first: float
    seconds: Sequence[float]
    postgres: float
    web: float
    size: int

    @property
    def is_slow(self) -> bool:
        """Return whether it exceeds a limit: the web server's CPU seconds, or the median of the responses."""
        too_long = statistics.median(self.seconds) > LIMIT_SECONDS or self.web > LIMIT_CPU_SECONDS
        return too_long or self.status >= httpx2.codes.BAD_REQUEST


def main(words: Sequence[str]) -> int:
    """Measure; return 1 if something exceeds its limit."""
    arguments = _parser().parse_args(words)
    console = Console(width=None if sys.stdout.isatty() else 150)
    with _server(arguments.keep) as server:
        pool = full_pool(server)
        server.checkpoint()
        with serving(server) as site:
            slow = _open_pages(server, site, pool, arguments.only, console)
            dear = _watch(server, site, arguments.seconds, console) if arguments.seconds else False
    return int(slow or dear)


def _open_pages(server: Server, site: Site, pool: FullPool, only: str, console: Console) -> bool:
    opened = [_open(server, site, address) for address in _addresses(pool) if only in address]
    table = Table(
        "page",
        "status",
        title=f"{_load()}; the limits are {LIMIT_SECONDS * 1000:.0f} ms, {LIMIT_CPU_SECONDS * 1000:.0f} of CPU",
    )
    for title in ("first ms", "median ms", "worst ms", "Postgres CPU ms", "web CPU ms", "KB", ""):
        table.add_column(title, justify="right")
    for each in opened:
        figures = (each.first, statistics.median(each.seconds), max(each.seconds), each.postgres, each.web)
        table.add_row(
            each.address,
            str(each.status),
            *(f"{1000 * figure:.0f}" for figure in figures),
            f"{each.size / 1024:.0f}",
            "SLOW" if each.is_slow else "",
        )
    console.print(table)
    return any(each.is_slow for each in opened)


def _open(server: Server, site: Site, address: str) -> Opened:
    with httpx2.Client(base_url=site.address, timeout=TIMEOUT) as client:
        begin = time.perf_counter()
        answer = client.get(address)
        first = time.perf_counter() - begin
        postgres, web = cpu_of_server(server.postmaster), cpu_of_sessions({site.session})
        seconds = [_timed(client, address) for _ in range(REPEATS)]
    return Opened(
        address=address,
        status=answer.status_code,
        first=first,
        seconds=seconds,
        postgres=(cpu_of_server(server.postmaster) - postgres) / REPEATS,
        web=(cpu_of_sessions({site.session}) - web) / REPEATS,
        size=len(answer.content),
    )


def _timed(client: httpx2.Client, address: str) -> float:
    begin = time.perf_counter()
    client.get(address)
    return time.perf_counter() - begin


def _addresses(pool: FullPool) -> Iterator[str]:
    for entry in read_table(ROUTES):
        if entry.method == "GET" and not entry.path.startswith("/assets/"):
            yield pool.scenery.path(entry.path)
    yield from pool.scenery.more()
    yield from (f"/tasks/{pool.big_parent}", f"/tasks/{pool.big_parent}/tree", f"/tasks?parent={pool.big_parent}")
    yield from (f"/tasks/{pool.big_parent}/tree?unfold={pool.big_parent}:pick", f"/chains/{pool.big_parent}")
    states = ("pending", "ready", "running", "stale", "blocked", "waiting", "completed", "failed", "cancelled")
    yield from (f"/tasks?state={state}" for state in states)
    yield from ("/tasks?role=crew-3", "/tasks?role=letters", "/tasks?handler=crew-3-1", "/tasks?key=store:77")
    yield from ("/tasks?text=429", "/tasks?role=crew-3&state=failed&text=503", "/tasks?worker=17")
    yield from (f"/tasks?cursor={write_cursor(before)}" for before in (2_900_000, 1_500_000, 1_000_100))
    yield from (f"/tasks/bulk?action={action}&state=failed" for action in ("retry", "cancel", "delete"))
    yield from (
        "/chains?state=open",
        "/chains?state=failed",
        "/chains?role=letters",
        f"/chains?cursor={write_cursor(1_500_000)}",
    )
    yield from ("/audit?actor=nobody", "/audit?action=tasks.retry", "/capacity?role=crew-3&workers=9")
    yield from (f"/?minutes={minutes}" for minutes in (60, 360, 1_440, 10_080))
    yield from (f"/jobs/{quote(name)}" for name in ("crew-3-1", "harvest"))


def _watch(server: Server, site: Site, seconds: float, console: Console) -> bool:
    table = Table("Postgres CPU, share of one core", title=f"{_load()}; an open overview may add {LIMIT_SHARE:.0%}")
    for title in ("nobody looks", "overview open", "it costs"):
        table.add_column(title, justify="right")
    dearest = 0.0
    for rate in (0, TASKS_A_SECOND):
        with working(server, rate) if rate else nullcontext():
            alone = _share(server, seconds)
            with looking_at(f"{site.address}/"):
                watched = _share(server, seconds)
        dearest = max(dearest, watched - alone)
        table.add_row(f"{rate} tasks/s", *(f"{100 * share:.2f} %" for share in (alone, watched, watched - alone)))
    console.print(table)
    return dearest > LIMIT_SHARE


def _share(server: Server, seconds: float) -> float:
    time.sleep(SETTLING_SECONDS)
    begin, before = time.monotonic(), cpu_of_server(server.postmaster)
    time.sleep(seconds)
    return (cpu_of_server(server.postmaster) - before) / (time.monotonic() - begin)


def _load() -> str:
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


@contextmanager
def _server(keep: Path | None) -> Iterator[Server]:
    with server_in(keep) if keep else throw_away_server() as server:
        yield server


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/pages.py", description=__doc__)
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="folder for keeping the filled database for the next run"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only pages whose address contains this")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the overview is open; 0 skips it")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
