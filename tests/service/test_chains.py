"""Operator actions on chains."""

from __future__ import annotations

import pytest

from rolecall import ChainFilter, ChainNotFound, ConfigError, NewTask, TaskNotTriggerable, WaitTimeout
from rolecall.service.services import Services

ADD = NewTask(handler="add", payload={"a": 1, "b": 2})


async def test_chain_is_shown_with_its_tasks(services: Services) -> None:
    stored = await services.tasks.enqueue(ADD)
    await services.tasks.complete(stored.id, 3)

    history = await services.chains.show(stored.id)

    assert (history.chain.id, history.chain.result) == (stored.id, 3)
    assert [task.id for task in history.tasks] == [stored.id]


async def test_missing_chain_cannot_be_shown(services: Services) -> None:
    with pytest.raises(ChainNotFound):
        await services.chains.show(4711)


async def test_wait_times_out(services: Services) -> None:
    stored = await services.tasks.enqueue(ADD)

    with pytest.raises(WaitTimeout, match="chain"):
        await services.chains.wait(stored.id, 0.1)

    await services.tasks.fail(stored.id, "no")
    assert (await services.chains.wait(stored.id, 5)).error == "no"


@pytest.mark.parametrize("which", [ChainFilter(limit=0), ChainFilter(limit=1001), ChainFilter(state="closed")], ids=str)
async def test_invalid_filter_is_rejected(services: Services, which: ChainFilter) -> None:
    with pytest.raises(ConfigError):
        await services.chains.list(which)


async def test_open_chains_are_listed(services: Services) -> None:
    first, second = await services.tasks.enqueue_many([ADD, ADD])
    await services.tasks.complete(first.id)

    page = await services.chains.list(ChainFilter(state="open"))
    assert [chain.id for chain in page.items] == [second.id]


async def test_chains_can_be_deleted(services: Services) -> None:
    stored = await services.tasks.enqueue(ADD)

    assert await services.chains.delete([stored.id]) == {stored.id: 1}


async def test_trigger_is_all_or_nothing(services: Services) -> None:
    later, done = await services.tasks.enqueue_many([ADD.options(after=60), ADD])
    await services.tasks.complete(done.id)

    with pytest.raises(TaskNotTriggerable):
        await services.tasks.trigger([later.id, done.id])

    assert list(await services.tasks.trigger([later.id])) == [later.id]
