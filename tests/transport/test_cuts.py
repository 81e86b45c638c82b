"""Connections to a broker that are cut at any moment."""

from __future__ import annotations

import pytest
import uvloop

from rolecall.config.brokers import broker_address
from rolecall.transport.choice import broker
from rolecall.transport.transport import NotificationsUnavailable, Transport
from tests.brokers import cutting_server


@pytest.mark.parametrize("scheme", ["redis", "nats"])
def test_subscription_raises_deaf_when_its_connection_is_cut_at_any_moment(scheme: str) -> None:
    async def subscribe(transport: Transport) -> None:
        for _ in range(1_000):
            with pytest.raises(NotificationsUnavailable):
                async with transport.subscribe(["rolecall_wake"]):
                    pass
        await transport.close()

    with cutting_server() as port:
        # The workers' own loop, which reports a connection cut between two writes in its own way.
        uvloop.run(subscribe(broker(broker_address(f"{scheme}://127.0.0.1:{port}"))))
