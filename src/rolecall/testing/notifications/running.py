"""All cases by name, and two ways to try them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from unittest import SkipTest

from rolecall.testing.notifications import carrying, working
from rolecall.testing.notifications.ground import Case, Ground, NotHere, Outcome, Result

CASES: Mapping[str, Case] = {case.__name__: case for case in (*carrying.CASES, *working.CASES)}


async def try_all(
    grounds: Callable[[], AbstractAsyncContextManager[Ground]], cases: Mapping[str, Case] = CASES
) -> list[Result]:
    """Try each case on a ground of its own; what raises anything but NotHere has failed."""
    return [await _tried(name, case, grounds) for name, case in cases.items()]


async def hold(case: Case, ground: Ground) -> None:
    """Try one case as a test of pytest or unittest: what the ground cannot show is skipped."""
    try:
        await case(ground)
    except NotHere as reason:
        raise SkipTest(str(reason)) from None


async def _tried(name: str, case: Case, grounds: Callable[[], AbstractAsyncContextManager[Ground]]) -> Result:
    try:
        async with grounds() as ground:
            await case(ground)
    except NotHere as reason:
        return Result(name, Outcome.SKIPPED, str(reason))
    except Exception as error:  # noqa: BLE001 - whatever it is, the transport did not pass
        return Result(name, Outcome.FAILED, f"{type(error).__name__}: {error}")
    return Result(name, Outcome.PASSED)
