"""Measures whole crawl cycles of Storecrawl: `bench/crawl.py --stores 5000 --products 400`.

Real worker processes crawl the demo's upstream, without pauses or rate limits. The upstream is a separate
process, so that its CPU time can be excluded. Wall times depend on other load on the machine; CPU time per store
is more stable. Ctrl-C stops the benchmark and prints what was measured so far.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.crawl_cycles import Cycles, Part  # noqa: E402 - this file is run as a script
from bench.crawl_report import show  # noqa: E402
from bench.crawl_world import SERVER, CrawlSizes, crawl_world  # noqa: E402
from bench.server import Server, throw_away_server  # noqa: E402


def main(words: Sequence[str]) -> int:
    """Measure and print the report."""
    arguments = _parser().parse_args(words)
    for number in (signal.SIGINT, signal.SIGTERM):  # a program that is started in the background ignores Ctrl-C
        signal.signal(number, signal.default_int_handler)
    sizes = CrawlSizes(
        stores=arguments.stores,
        products=arguments.products,
        cycles=arguments.cycles,
        changing=arguments.changing,
        workers=arguments.workers,
        slots=arguments.slots,
    )
    with throw_away_server(SERVER) as server:
        parts = list(measure(server, sizes))
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(
        f"{sizes.stores:,} stores with menus of {sizes.products}, {sizes.changing:.0%} of which change in a cycle;"
    )
    console.print(
        f"{sizes.workers} workers with {sizes.slots} slots; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    show(parts, console)
    return 0


def measure(server: Server, sizes: CrawlSizes) -> Iterator[Part]:
    """Run the cycles on a server, part by part; all their results are in its database."""
    with (
        tempfile.TemporaryDirectory(prefix="storecrawl-bench-") as folder,
        crawl_world(server, Path(folder), sizes) as world,
        server.connect(server.dsn) as connection,
    ):
        yield from Cycles(world, sizes, connection).run()


def _parser() -> argparse.ArgumentParser:
    sizes = CrawlSizes()
    parser = argparse.ArgumentParser(prog="bench/crawl.py", description=__doc__)
    parser.add_argument("--stores", type=int, default=sizes.stores)
    parser.add_argument("--products", type=int, default=sizes.products, help="of a menu")
    parser.add_argument("--cycles", type=int, default=sizes.cycles)
    parser.add_argument("--changing", type=float, default=sizes.changing, metavar="SHARE", help="of a menu, in a cycle")
    parser.add_argument("--workers", type=int, default=sizes.workers, help="processes")
    parser.add_argument("--slots", type=int, default=sizes.slots, help="of each of them")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
