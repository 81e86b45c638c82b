"""Measures unusual tasks with all peers: a thousand at once that wait a second, handlers of 1 ms, payloads of 100 kB.

    python bench/shapes.py --quick

One worker process each, which runs as many tasks at once as the shape says. With handlers of 1 s, a thousand slots
run at most 1,000 tasks/s; with 1 ms, a hundred slots run 100,000. Handlers wait without CPU time, so the CPU per
task is the queue's. It is omitted if a peer had run most tasks before the first reading.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.peers import Peer, known_peers  # noqa: E402 - this file is run as a script
from bench.progress import say, tell  # noqa: E402
from bench.record import Record, Sizes  # noqa: E402
from bench.run import PEERS, heading, prepared  # noqa: E402
from bench.server import Server, throw_away_server  # noqa: E402
from bench.works import Round  # noqa: E402

QUICK_SHARE = 5
DRAIN_SECONDS = 60.0
HEAD = (
    "shape",
    "peer",
    "tasks/s",
    "CPU a task, us: worker + server",
    "WAL a task",
    "enqueue, tasks/s",
    "its WAL a task",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of task, described in words and by the variables of bench/asked.py, and how many are run."""

    title: str
    tasks: int
    asked: Mapping[str, str]


SHAPES = {
    "slots": Shape(
        title="1,000 slots, handlers wait 1 s",
        tasks=10_000,
        asked={"BENCH_AT_ONCE": "1000", "BENCH_HANDLER_MS": "1000"},
    ),
    "short": Shape(
        title="100 slots, handlers wait 1 ms",
        tasks=20_000,
        asked={"BENCH_AT_ONCE": "100", "BENCH_HANDLER_MS": "1"},
    ),
    "payload": Shape(
        title="100 slots, payloads of 100 kB",
        tasks=4_000,
        asked={"BENCH_AT_ONCE": "100", "BENCH_PAYLOAD_BYTES": "100000"},
    ),
}


def main() -> int:
    asked = arguments()
    peers = prepared([known_peers()[name] for name in asked.peers.split(",")])
    with throw_away_server() as server:
        found = [
            record
            for name in asked.shapes.split(",")
            for peer in peers
            for record in measures(server, peer, SHAPES[name], QUICK_SHARE if asked.quick else 1)
        ]
        tell("shapes", heading(server, peers), list(map(asdict, found)), (HEAD, list(rows(found))))
    return 1 if any(record.problem for record in found) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"one task of {QUICK_SHARE}")
    parser.add_argument("--shapes", default=",".join(SHAPES), help=f"of {','.join(SHAPES)}")
    parser.add_argument("--peers", default=",".join(PEERS), help="of those in peers.toml")
    return parser.parse_args()


def measures(server: Server, peer: Peer, shape: Shape, share: int) -> Iterator[Record]:
    """Enqueue and drain; each measurement has the shape's title."""
    sizes = Sizes(tasks=shape.tasks // share, drain_seconds=DRAIN_SECONDS)
    for record in Round(server, replace(peer, times=1), sizes, 0, shape.asked).measure(frozenset({"W1", "W2"})):
        rate = record.problem or f"{record.rate:,.0f} tasks/s"
        say(f"{shape.title}: {peer.name} {'enqueues' if record.work == 'W1' else 'drains'}: {rate}")
        yield replace(record, detail=record.detail | {"shape": shape.title})


def rows(found: Sequence[Record]) -> Iterator[list[str]]:
    """Return one row for each drain, together with its enqueue; failed ones have none."""
    filled = {(each.detail.get("shape"), each.peer): each for each in found if each.work == "W1"}
    for drained in found:
        enqueued = filled.get((drained.detail.get("shape"), drained.peer))
        if drained.work == "W1" or drained.problem or enqueued is None:
            continue
        yield [
            str(drained.detail["shape"]),
            drained.peer,
            f"{drained.rate:,.0f}" + (" (not all)" if drained.detail["partial"] else ""),
            price(drained),
            bytes_of(drained),
            f"{enqueued.rate:,.0f}",
            bytes_of(enqueued),
        ]


def price(drained: Record) -> str:
    seen = drained.detail["cpu_tasks"] * 2 >= drained.detail["n"]
    return f"{drained.worker_us:.0f} + {drained.server_us:.0f}" if seen else ""


def bytes_of(record: Record) -> str:
    return "" if record.wal is None else f"{record.wal:,.0f} B"


if __name__ == "__main__":
    sys.exit(main())
