"""Failures of real handlers are read as error groups in the client."""

from __future__ import annotations

import pytest

from rolecall import App, AsyncClient, Client, ErrorGroupFilter, PermanentFailure
from rolecall.sql import error_groups
from rolecall.testing import drain

pytestmark = pytest.mark.usefixtures("database")


class Declined(Exception):
    """A card is declined."""


def make_app() -> App:
    app = App("shop")

    @app.task(max_attempts=1)
    async def charge(order: int) -> None:
        try:
            raise ConnectionResetError(order, f"no answer from 10.0.0.{order}")
        except OSError as error:
            raise Declined(f"card {order:016} was declined") from error

    @app.task
    async def ship(order: int) -> None:
        raise PermanentFailure(f"order {order} has no address")

    return app


async def test_failures_of_handlers_are_grouped_by_their_cause(database: str) -> None:
    app = make_app()
    async with AsyncClient(database, app=app) as client:
        for order in range(3):
            await client.enqueue("charge", {"order": order})
        await client.enqueue("ship", {"order": 1})
        await drain(app, database)
        await client._run(error_groups.group_failures())

        [charge] = await client.error_groups(ErrorGroupFilter(handler="charge"))
        [ship] = await client.error_groups(ErrorGroupFilter(text="no address"))

    assert charge.title.startswith(f"{__name__}.Declined: card * was declined (caused by ConnectionResetError: ")
    assert (charge.failed, charge.frame) == (3, "client/test_error_groups.py in charge")
    assert (ship.handler, ship.failed, ship.frame) == ("ship", 1, "client/test_error_groups.py in ship")


def test_sync_client_reads_the_same_groups(database: str) -> None:
    with Client(database, app=make_app()) as client:
        task = client.enqueue("charge", {"order": 1})
        client.fail(task.id, "E: 7")
        client._run(error_groups.group_failures())

        [group] = client.error_groups()

    assert (group.title, group.failed, group.state) == ("E: *", 1, "new")
