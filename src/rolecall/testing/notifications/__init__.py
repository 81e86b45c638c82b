"""The conformance tests of notification transports, for Rolecall's own and for yours.

A `Ground` describes how to create a transport, how to stop and restart its server, and an unused database. A case is a
function of a ground. It raises AssertionError if the transport fails, or NotHere if the ground cannot support the case.
No test framework is needed:

    for result in await try_all(my_ground):
        print(result.case, result.outcome, result.problem)

With pytest, each case is a test:

    @pytest.mark.parametrize("case", CASES.values(), ids=CASES)
    async def test_my_transport(case: Case, ground: Ground) -> None:
        await hold(case, ground)

`carrying` tests the transport itself; `working` runs workers on it, also while it loses, repeats and reorders
notifications (`faults`).
"""

from __future__ import annotations

from rolecall.testing.notifications.faults import lossy, repeating, shuffling
from rolecall.testing.notifications.ground import Case, Ground, NotHere, Outcome, Result
from rolecall.testing.notifications.running import CASES, hold, try_all

__all__ = [
    "CASES",
    "Case",
    "Ground",
    "NotHere",
    "Outcome",
    "Result",
    "hold",
    "lossy",
    "repeating",
    "shuffling",
    "try_all",
]
