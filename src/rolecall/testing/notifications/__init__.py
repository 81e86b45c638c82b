"""What anything must do that carries notifications: ours is held to it, and yours can be.

A *ground* says how to reach a transport, how to take its server away and bring it back, and where a database is that
nothing else uses. A *case* is a function that is given one, and raises AssertionError where the transport does not do
what it must, or NotHere where the ground cannot show it. No test framework is needed:

    for result in await try_all(my_ground):
        print(result.case, result.outcome, result.problem)

With pytest, each case is a test:

    @pytest.mark.parametrize("case", CASES.values(), ids=CASES)
    async def test_my_transport(case: Case, ground: Ground) -> None:
        await hold(case, ground)

`carrying` holds the transport itself to what `rolecall.wake.transport` promises, `working` has real workers that hear
by it, also where it loses, repeats and reorders everything (`faults`).
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
