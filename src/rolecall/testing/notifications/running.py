"""All cases by name, and two ways to run them."""

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
    """Run each case on a ground of its own. Any exception but NotHere is a failure."""
    return [await _try_case(name, case, grounds) for name, case in cases.items()]


async def hold(case: Case, ground: Ground) -> None:
    """Run one case as a test of pytest or unittest. NotHere skips it."""
    try:
        await case(ground)
    except NotHere as reason:
        raise SkipTest(str(reason)) from None


async def _try_case(name: str, case: Case, grounds: Callable[[], AbstractAsyncContextManager[Ground]]) -> Result:
    try:
        async with grounds() as ground:
            await case(ground)
    except NotHere as reason:
        return Result(name, Outcome.SKIPPED, str(reason))
    except Exception as error:  # noqa: BLE001 - any error is a failure
        return Result(name, Outcome.FAILED, f"{type(error).__name__}: {error}")
    return Result(name, Outcome.PASSED)
