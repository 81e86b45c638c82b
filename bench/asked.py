"""Variables by which a shape configures every adapter; by default, tasks are no-ops with a number as payload.

    BENCH_HANDLER_MS       how long a handler waits (async, without CPU time)
    BENCH_PAYLOAD_BYTES    the length of an additional text in each payload
    BENCH_AT_ONCE          how many tasks a worker runs at once, instead of the peer's own setting

Standard library only: an adapter runs in its peer's environment.
"""

from __future__ import annotations

import os
import random
from base64 import b64encode

HANDLER_SECONDS = float(os.environ.get("BENCH_HANDLER_MS", "0")) / 1000
PAYLOAD_BYTES = int(os.environ.get("BENCH_PAYLOAD_BYTES", "0"))
AT_ONCE = int(os.environ.get("BENCH_AT_ONCE", "0"))
MOST_A_CALL = 20_000
BYTES_A_CALL = 10_000_000
# Tasks per bulk call. Fewer for large payloads, because nobody sends a gigabyte at once.
CHUNK = min(MOST_A_CALL, max(1, BYTES_A_CALL // PAYLOAD_BYTES)) if PAYLOAD_BYTES else MOST_A_CALL


# Random letters, which do not compress, identical in every run.
TEXT = b64encode(random.Random(0).randbytes(PAYLOAD_BYTES))[:PAYLOAD_BYTES].decode()
