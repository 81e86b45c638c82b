"""The conformance suite detects faulty transports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

import pytest

from rolecall.testing.notifications import Case, Ground, Outcome, carrying, ground, lossy, try_all
from rolecall.testing.notifications.faults import Faulty
from rolecall.transport.in_process import InProcess
from rolecall.transport.transport import CHANNELS, Message, Transport


class HearsTooMuch(Faulty):
    """A transport that receives channels without a subscription."""

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        async with super().subscribe(CHANNELS) as output:
            yield output


class ClosesOnce(Faulty):
    """A transport that fails when it is closed twice."""

    closed = False

    async def close(self) -> None:
        if self.closed:
            raise RuntimeError("it is closed already")
        self.closed = True


async def _as_it_is(output: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    async for message in output:
        yield message


def hearing_too_much(transport: Transport) -> Transport:
    return HearsTooMuch(transport, _as_it_is)


def closing_once(transport: Transport) -> Transport:
    return ClosesOnce(transport, _as_it_is)


def as_it_is(transport: Transport) -> Transport:
    return transport


async def nothing() -> None:
    """A server that disappears without notice."""


@pytest.mark.parametrize(
    ("spoil", "case"),
    [
        (lossy, carrying.every_channel_carries_what_it_is_given),
        (hearing_too_much, carrying.channels_that_nobody_asked_for_stay_silent),
        (closing_once, carrying.closing_twice_does_no_harm),
        (as_it_is, carrying.a_server_that_is_away_is_no_silence),
    ],
)
async def test_faulty_transport_fails_the_suite(
    spoil: Callable[[Transport], Transport], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ground, "PATIENCE", 0.2)
    hub = InProcess()

    @asynccontextmanager
    async def spoiled() -> AsyncIterator[Ground]:
        yield Ground(dsn="", transport=lambda: spoil(hub), cut=nothing, restore=nothing)

    (result,) = await try_all(spoiled, {"case": case})

    assert result.outcome is Outcome.FAILED


async def test_unsupported_case_is_reported_as_skipped() -> None:
    @asynccontextmanager
    async def without_server() -> AsyncIterator[Ground]:
        yield Ground(dsn="", transport=InProcess)

    cases = (carrying.closing_twice_does_no_harm, carrying.a_server_that_is_away_is_no_silence)
    results = await try_all(without_server, {case.__name__: case for case in cases})

    assert [result.outcome for result in results] == [Outcome.PASSED, Outcome.SKIPPED]
