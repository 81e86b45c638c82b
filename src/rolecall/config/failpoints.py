"""Places at which tests can kill this process: `ROLECALL_FAILPOINT=<place>` or `<place>:<nth time>`.

With `<place>:<nth time>:stop`, the process stops there until SIGCONT. Without the variable, each place costs one check
of `ARMED`.
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
# Places named by the user's program.
HERE = "here "
STOP = "stop"
EXIT_CODE = 137

_place, _nth, _action, *_ = [*os.environ.get(VARIABLE, "").split(":"), "", ""]
_COUNT: Iterator[int] = itertools.count(1)
_NTH = int(_nth or 1)
ARMED: str | None = _place or None


def hit(place: str) -> None:
    """Die, as by kill -9, or stop, if this is the nth time at the armed place."""
    if place != ARMED or (turn := next(_COUNT)) < _NTH:
        return
    if _action != STOP:
        os._exit(EXIT_CODE)
    if turn == _NTH:
        os.kill(os.getpid(), signal.SIGSTOP)
