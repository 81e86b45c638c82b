"""Measures whether the reads of a claim and a finish grow with the contents of the pool: finished, pending, parked etc.

    python bench/growth.py --quick
    python bench/growth.py --finished 1000,100000,1000000,10000000 --pending 1000,5000000

Each kind is filled step by step with bulk SQL in a separate database. After each step, a batch of 20 tasks is
claimed and finished, and the buffers that were hit and read are counted. tests/sql/test_growth.py asserts the same
for sizes that a test can fill.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.progress import say, tell  # noqa: E402
from bench.run import heading  # noqa: E402 - this file is run as a script
from bench.server import Server, throw_away_server  # noqa: E402
from rolecall import migrate  # noqa: E402
from rolecall.testing import Clock  # noqa: E402
from tests.sql.engine import WORK, Engine  # noqa: E402
from tests.sql.growth import BATCH, FILLS, costs, fill  # noqa: E402

STEPS = {
    "finished": "1000,100000,1000000",
    "pending": "1000,500000",
    "lines": "10,2000",
    "keys": "1000,200000",
    "parked": "1000,500000",
}
KEYED = {"keys", "parked"}
QUICK_SHARE = 10
HEAD = ("of", "there are", f"claim of {BATCH}, buffers", f"finish of {BATCH}, buffers")


def main() -> None:
    asked = arguments()
    with throw_away_server() as server:
        found = [
            row
            for kind in FILLS
            for row in measured(
                server, kind, [int(step) for step in getattr(asked, kind).split(",")], quick=asked.quick
            )
        ]
        rows = [[str(row["kind"]), f"{row['number']:,}", str(row["claim"]), str(row["finish"])] for row in found]
        tell("growth", heading(server), found, (HEAD, rows))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"a {QUICK_SHARE}th of the larger numbers")
    for kind, steps in STEPS.items():
        parser.add_argument(f"--{kind}", default=steps, help=f"the numbers to measure, in this order ({steps})")
    return parser.parse_args()


def measured(server: Server, kind: str, steps: list[int], *, quick: bool) -> Iterator[dict[str, object]]:
    """Fill one kind up to each step, and measure there."""
    server.empty()
    with server.connect(server.dsn) as connection:
        migrate(connection)
        engine = Engine(connection, Clock(server.dsn), server.dsn)
        engine.declare(WORK)
        there = 0
        for step in steps:
            number = max(there + 1, step // QUICK_SHARE) if quick and there else step
            say(f"{kind}: filling up to {number:,}")
            fill(engine, kind, number - there)
            there = number
            claim, finish = costs(engine, keyed=kind in KEYED)
            say(f"{kind}: {number:,}: a claim {claim}, a finish {finish} buffers")
            yield {"kind": kind, "number": number, "claim": claim, "finish": finish}


if __name__ == "__main__":
    main()
