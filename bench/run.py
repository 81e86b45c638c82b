"""Measures Rolecall, its peers and bare SQL on a temporary server, in one run: `./dev bench --quick`.

Compare only figures of one run: repeats are the outer loop and peers the inner one, so that a noisy minute affects
all alike. CPU per task is the most stable figure on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.bars import OURS  # noqa: E402 - this file is run as a script
from bench.ceilings import Ceilings  # noqa: E402
from bench.curves import curves  # noqa: E402
from bench.peers import AdapterFailed, Peer, known_peers  # noqa: E402
from bench.plot import bars  # noqa: E402
from bench.record import QUICK, Log, Record, Sizes, read_log  # noqa: E402
from bench.report import Summary, markdown, show  # noqa: E402
from bench.server import Server, debian_server, throw_away_server  # noqa: E402
from bench.works import WORKS, Round  # noqa: E402
from tools.errors import SetupError  # noqa: E402

RESULTS = ROOT / "bench" / "results"
REPEATS = 3
PEERS = ("rolecall", "pgqueuer", "pg-boss", "graphile-worker", "awa")


def main(words: Sequence[str]) -> int:
    """Measure, or show a session again; return 1 if a measurement failed."""
    arguments = _parser().parse_args(words)
    console = Console(width=None if sys.stdout.isatty() else 200)
    if arguments.show:
        _, records = read_log(arguments.show.read_text().splitlines())
        return _report(records, arguments.show, console)
    peers = prepared([known_peers()[name] for name in _wanted(arguments)])
    sizes = replace(QUICK if arguments.quick else Sizes(), patience=arguments.patience)
    repeats = arguments.reps or (1 if arguments.quick else REPEATS)
    with debian_server() if arguments.debian else throw_away_server() as server:
        log = Log(RESULTS / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.jsonl", heading(server, peers))
        records = []
        for record in _measures(server, peers, sizes, repeats, frozenset(arguments.work)):
            log.add(record)
            records.append(record)
            _tell(record)
    return _report(records, log.path, console)


def _measures(
    server: Server, peers: Sequence[Peer], sizes: Sizes, repeats: int, works: frozenset[str]
) -> Iterator[Record]:
    for repeat in range(repeats):
        if works - {"W4"}:
            yield from Ceilings(server, sizes).measure()
        for peer in peers:
            yield from Round(server, peer, sizes, repeat).measure(works)


def prepared(peers: Sequence[Peer]) -> list[Peer]:
    """Prepare the peers and return the available ones: without a network, the others can still be measured."""
    ready = []
    for peer in peers:
        try:
            peer.prepare()
        except SetupError as error:
            print(f"bench: {peer.name} is skipped: {error}", file=sys.stderr)
        else:
            ready.append(peer)
    return ready


def heading(server: Server, peers: Sequence[Peer] = ()) -> dict[str, Any]:
    """Return the conditions of the measurements."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "commit": _commit(),
        "postgres": server.settings(),
        "peers": {peer.name: _facts(peer, server) for peer in peers},
    }


def _facts(peer: Peer, server: Server) -> dict[str, Any]:
    try:
        return peer.ask("info", environment=server.environment())
    except AdapterFailed as error:
        return {"problem": str(error)}


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _tell(record: Record) -> None:
    figures = {
        "rate": "{:,.0f}/s",
        "worker_us": "{:.1f} us",
        "server_us": "+ {:.1f} us",
        "p50": "p50 {:.2f} ms",
    }
    values = {name: getattr(record, name) for name in figures}
    result = [figures[name].format(value) for name, value in values.items() if value is not None]
    line = record.problem or " ".join(result)
    print(f"{time.strftime('%T')} {record.peer:<18} {record.work:<36} {line}", file=sys.stderr, flush=True)


def _report(records: Sequence[Record], path: Path, console: Console) -> int:
    summary = Summary(records)
    show(summary, console)
    path.with_suffix(".md").write_text(markdown(summary))
    path.with_suffix(".svg").write_text(bars(summary))
    path.with_suffix(".curves.svg").write_text(curves(summary))
    console.print(f"measures: {path}, and the same as .md, .svg and .curves.svg", soft_wrap=True)
    return 1 if any(record.problem for record in records) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller amounts, one repeat: under two minutes")
    parser.add_argument("--reps", type=int, help=f"repeats (default {REPEATS})")
    parser.add_argument("--work", type=_several(WORKS), default=WORKS, help=f"of {','.join(WORKS)}")
    known = tuple(known_peers())
    parser.add_argument("--peers", type=_several(known), default=PEERS, help=f"of {','.join(known)}")
    parser.add_argument("--variants", action="store_true", help="also Rolecall's variants, which all bars need")
    parser.add_argument("--debian", action="store_true", help="on Debian's Postgres with its default settings")
    parser.add_argument(
        "--patience", type=float, default=0.0, help="seconds that a measurement may wait for an idle machine"
    )
    parser.add_argument("--show", type=Path, metavar="FILE", help="show a stored session (.jsonl)")
    return parser


def _wanted(arguments: argparse.Namespace) -> list[str]:
    variants = [name for name in known_peers() if arguments.variants and name.startswith(f"{OURS}-")]
    return list(dict.fromkeys([*arguments.peers, *variants]))


def _several(known: Sequence[str]) -> Any:
    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
        return names

    return read


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
