"""Places at which a test can kill this process: `ROLECALL_FAILPOINT=<place>` or `<place>:<nth time>`.

With `<place>:<nth time>:stop` it stands still there instead, until it is sent SIGCONT. Without that variable nothing is
armed, and every place costs one look at `ARMED`.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator

VARIABLE = "ROLECALL_FAILPOINT"
AFTER_TAKE = "after_take"
AFTER_CLAIM = "after_claim"
MID_HANDLER = "mid_handler"
BEFORE_FINISH = "before_finish"
AFTER_FINISH = "after_finish"
BEFORE_ACK = "before_ack"
BEFORE_PUSH = "before_push"
AFTER_PUSH = "after_push"
BEFORE_PUT_BACK = "before_put_back"
AFTER_PUT_BACK = "after_put_back"
# What the program of a user calls so itself.
HERE = "here "
STOP = "stop"
EXIT_CODE = 137

_place, _nth, _action, *_ = [*os.environ.get(VARIABLE, "").split(":"), "", ""]
_COUNT: Iterator[int] = itertools.count(1)
_NTH = int(_nth or 1)
ARMED: str | None = _place or None


def hit(place: str) -> None:
    """Die here, as by kill -9, or stand still, if this is the armed place and its time has come."""
    if place != ARMED or (turn := next(_COUNT)) < _NTH:
        return
    if _action != STOP:
        os._exit(EXIT_CODE)
    if turn == _NTH:
        os.kill(os.getpid(), signal.SIGSTOP)
