"""Cases about the transport alone: notifications are delivered, and a lost server is noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from rolecall.testing.notifications.ground import Case, Ground, next_of, require, until
from rolecall.transport.listener import Listener, ListenerOptions
from rolecall.transport.transport import BEAT_CHANNEL, CANCEL_CHANNEL, CHANNELS, WAKE_CHANNEL, Reach, Transport

NOTICED_WITHIN = 20.0
PROMPTLY = 3.0
TIMES = 10
BEAT_SECONDS = 0.1
# A wake has at most twenty names.
PAYLOADS = ("mail", "", "mail:7,12", "größer", "mail:" + ",".join(str(2**62 + number) for number in range(20)))


async def every_channel_carries_what_it_is_given(ground: Ground) -> None:
    """Payloads arrive unchanged, on the channel on which they were published."""
    transport = ground.delivering_transport()
    sent = [(channel, payload) for channel in CHANNELS for payload in PAYLOADS]
    async with transport.subscribe(CHANNELS) as messages:
        for channel, payload in sent:
            await transport.publish(channel, payload)
        received = {await next_of(messages) for _ in sent}
    await transport.close()
    require(received == set(sent), f"not received, or changed: {sorted(set(sent) ^ received)}")


async def every_subscriber_receives(ground: Ground) -> None:
    """Every subscriber receives every notification."""
    one, other = ground.delivering_transport(), ground.delivering_transport()
    async with (
        one.subscribe([WAKE_CHANNEL]) as first,
        one.subscribe([WAKE_CHANNEL]) as second,
        other.subscribe([WAKE_CHANNEL]) as third,
    ):
        await other.publish(WAKE_CHANNEL, "mail")
        for messages in (first, second, third):
            require(await next_of(messages) == (WAKE_CHANNEL, "mail"), "a subscriber received something else")
    await one.close()
    await other.close()


async def channels_that_nobody_asked_for_stay_silent(ground: Ground) -> None:
    """Only the subscribed channels are received."""
    transport = ground.delivering_transport()
    async with transport.subscribe([WAKE_CHANNEL]) as messages:
        await transport.publish(CANCEL_CHANNEL, "7")
        await transport.publish(WAKE_CHANNEL, "mail")
        require(await next_of(messages) == (WAKE_CHANNEL, "mail"), "a channel without a subscription was received")
    await transport.close()


async def a_subscription_hears_from_its_beginning_on(ground: Ground) -> None:
    """A notification published right after entering the block is received: the subscription is active."""
    transport, speaker = ground.delivering_transport(), ground.delivering_transport()
    for number in range(TIMES):
        async with transport.subscribe([WAKE_CHANNEL]) as messages:
            await speaker.publish(WAKE_CHANNEL, str(number))
            require(await next_of(messages) == (WAKE_CHANNEL, str(number)), "the first notification was not received")
    await transport.close()
    await speaker.close()


async def leaving_is_prompt_and_leaves_nothing_running(ground: Ground) -> None:
    """A cancelled subscriber ends promptly and leaves no asyncio tasks behind."""
    transport = ground.delivering_transport()
    before = asyncio.all_tasks()

    async def listen() -> None:
        async with transport.subscribe(CHANNELS) as messages:
            entered.set()
            async for _ in messages:
                pass

    entered = asyncio.Event()
    listening = asyncio.create_task(listen())
    async with asyncio.timeout(NOTICED_WITHIN):
        await entered.wait()
    listening.cancel()
    await asyncio.wait({listening}, timeout=PROMPTLY)
    require(listening.done(), f"the subscriber did not end within {PROMPTLY:g} s")
    await transport.close()
    await until(lambda: asyncio.all_tasks() <= before, "asyncio tasks are still running")


async def closing_twice_does_no_harm(ground: Ground) -> None:
    """Closing is idempotent and works without open connections."""
    ground.transport()
    transport = ground.transport()
    await transport.close()
    await transport.publish(WAKE_CHANNEL, "mail")
    await transport.close()
    await transport.close()


async def a_subscription_ends_when_its_server_goes_away(ground: Ground) -> None:
    """The subscription raises within seconds when the server goes away."""
    transport = ground.delivering_transport()
    async with transport.subscribe(CHANNELS) as messages:
        await ground.take_away()
        try:
            async with asyncio.timeout(NOTICED_WITHIN):
                async for _ in messages:
                    pass
        except TimeoutError:
            raise AssertionError("the subscription does not raise although the server is gone") from None
        except Exception:  # noqa: BLE001, S110 - any error is accepted
            pass
    await ground.bring_back()
    await transport.close()


async def a_server_that_is_away_is_no_silence(ground: Ground) -> None:
    """Without a server, subscribing and publishing raise within seconds. Once it is back, the transport works."""
    transport = ground.delivering_transport()
    await transport.publish(WAKE_CHANNEL, "before")
    await ground.take_away()
    require(await _fails(transport.publish(WAKE_CHANNEL, "lost")), "publishing without a server did not raise")
    require(await _fails(_subscribe(transport)), "subscribing without a server did not raise")
    await ground.bring_back()
    async with transport.subscribe(CHANNELS) as messages:
        await transport.publish(WAKE_CHANNEL, "mail")
        require(await next_of(messages) == (WAKE_CHANNEL, "mail"), "the transport does not work again")
    await transport.close()


async def a_listener_reconnects_and_looks_for_tasks(ground: Ground) -> None:
    """A listener is not alive while the server is away. After each reconnect, it asks workers to look for tasks."""
    transport = ground.delivering_transport()
    returns: list[None] = []
    failures: list[Exception] = []
    listener = Listener(
        transport,
        {WAKE_CHANNEL: lambda _payload: None},
        lambda: returns.append(None),
        on_failure=failures.append,
        options=ListenerOptions(first_retry=0.05, longest_retry=0.2),
    )
    running = [asyncio.create_task(listener.run()), asyncio.create_task(_beat(transport))]
    try:
        await until(lambda: listener.alive and returns, "the listener never became ready")
        await ground.take_away()
        await until(lambda: not listener.alive, "the listener is still alive without a server", NOTICED_WITHIN)
        before = len(returns)
        await ground.bring_back()
        await until(
            lambda: listener.alive and len(returns) > before,
            "the listener did not reconnect, or did not ask workers to look",
        )
        require(len(failures) == 1, f"on_failure was called {len(failures)} times, not once")
    finally:
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        await transport.close()


CASES: tuple[Case, ...] = (
    every_channel_carries_what_it_is_given,
    every_subscriber_receives,
    channels_that_nobody_asked_for_stay_silent,
    a_subscription_hears_from_its_beginning_on,
    leaving_is_prompt_and_leaves_nothing_running,
    closing_twice_does_no_harm,
    a_subscription_ends_when_its_server_goes_away,
    a_server_that_is_away_is_no_silence,
    a_listener_reconnects_and_looks_for_tasks,
)


async def _subscribe(transport: Transport) -> None:
    async with transport.subscribe(CHANNELS):
        pass


async def _fails(attempt: Coroutine[Any, Any, None]) -> bool:
    try:
        async with asyncio.timeout(NOTICED_WITHIN):
            await attempt
    except TimeoutError:
        return False
    except Exception:  # noqa: BLE001 - any error is accepted
        return True
    return False


async def _beat(transport: Transport) -> None:
    while transport.reach is Reach.RELAYED:
        with suppress(Exception):
            await transport.publish(BEAT_CHANNEL, "")
        await asyncio.sleep(BEAT_SECONDS)
