"""Chains in the client: read, await, complete, delete."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rolecall import (
    ChainError,
    ChainFilter,
    ChainNeeded,
    ChainNotFound,
    ConfigError,
    NewTask,
    TaskState,
    WaitTimeout,
)
from tests.client.conftest import Face

ADD = NewTask(handler="add", payload={"a": 1})


async def start(face: Face, **options: Any) -> int:
    """Enqueue the first task of a chain."""
    task_id: int = (await face("enqueue", ADD.options(**options))).id
    return task_id


async def test_chain_is_read_by_the_id_of_its_first_task(face: Face) -> None:
    chain_id = await start(face)
    await face("complete", chain_id, "one", continue_with=ADD)
    await face("complete_chain", chain_id, "two")

    chain = await face("get_chain", chain_id)

    assert (chain.id, chain.handler, chain.payload, chain.length) == (chain_id, "add", {"a": 1}, 2)
    assert (chain.state, chain.open, chain.result) == (TaskState.COMPLETED, False, "two")
    assert chain.last_id > chain_id


async def test_missing_chain_cannot_be_read_or_waited_for(face: Face) -> None:
    for verb in ("get_chain", "wait_chain"):
        with pytest.raises(ChainNotFound, match="no chain 4711"):
            await face(verb, 4711)


async def test_chains_are_listed_in_pages(face: Face) -> None:
    ids = [await start(face) for _ in range(3)]
    await face("complete", ids[1])

    page = await face("list_chains", ChainFilter(limit=2))
    rest = await face("list_chains", ChainFilter(before=page[-1].id))

    assert [chain.id for chain in [*page, *rest]] == ids[::-1]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (ChainFilter(state="open"), [2, 0]),
        (ChainFilter(state="completed"), [1]),
        (ChainFilter(state="scheduled"), [2]),
        (ChainFilter(handler="add", role="sums"), [2, 1, 0]),
        (ChainFilter(handler="other"), []),
    ],
    ids=str,
)
async def test_list_can_be_filtered(face: Face, which: ChainFilter, expected: list[int]) -> None:
    ids = [await start(face), await start(face), await start(face, after=60)]
    await face("complete", ids[1])

    assert [ids.index(chain.id) for chain in await face("list_chains", which)] == expected


async def test_wait_lasts_until_the_last_task_has_finished(face: Face) -> None:
    chain_id = await start(face)
    waiter = asyncio.create_task(face("wait_chain", chain_id, timeout=40))

    await face("complete", chain_id, "one", continue_with=ADD)
    await face("complete_chain", chain_id, "two")

    assert (await waiter).result == "two"


async def test_wait_for_a_chain_times_out(face: Face) -> None:
    chain_id = await start(face)
    begin = time.monotonic()

    with pytest.raises(WaitTimeout, match=f"chain {chain_id} did not finish within 0.3 s"):
        await face("wait_chain", chain_id, timeout=0.3)

    assert 0.3 <= time.monotonic() - begin < 30


@asynccontextmanager
async def completing(face: Face, chain_id: int, **words: Any) -> Any:
    """Enter the block of either client. The steps of the sync one run here, as in its caller's thread."""
    block = face.client.completing(chain_id, **words)
    if face.kind == "async":
        async with block as chain:
            yield chain
    else:
        with block as chain:
            yield chain


async def done(answer: Any) -> None:
    if answer is not None:
        await answer


async def test_chain_can_advance_several_steps_in_one_block(face: Face) -> None:
    """A block may complete several steps, continue, or do nothing."""
    chain_id = await start(face, after=60)

    async with completing(face, chain_id) as chain:
        assert chain.task.id == chain_id
        await done(chain.complete("one", continue_with=ADD))
        assert (chain.task.chain_id, chain.task.chain_index) == (chain_id, 1)
        await done(chain.complete("two"))
        assert chain.task is None
        with pytest.raises(ChainError, match="has finished"):
            await done(chain.complete("three"))

    read = await face("get_chain", chain_id)
    assert (read.length, read.result, read.open) == (2, "two", False)


async def test_chain_can_be_failed_in_the_block(face: Face) -> None:
    chain_id = await start(face)

    async with completing(face, chain_id) as chain:
        await done(chain.fail("declined"))

    assert (await face("get_chain", chain_id)).error == "declined"


async def test_empty_block_changes_nothing(face: Face) -> None:
    chain_id = await start(face)

    async with completing(face, chain_id) as chain:
        assert chain.task.status == "ready"

    assert (await face("get_chain", chain_id)).status == "ready"


async def test_exception_in_the_block_rolls_it_back_and_is_reraised_unchanged(face: Face) -> None:
    chain_id = await start(face)

    async def complete_and_stumble() -> None:
        async with completing(face, chain_id) as chain:
            await done(chain.complete("one"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await complete_and_stumble()

    assert (await face("get_chain", chain_id)).open


async def test_block_can_share_the_callers_transaction(face: Face) -> None:
    chain_id = await start(face)
    async with face.transaction(commit=False) as connection, completing(face, chain_id, connection=connection) as chain:
        await done(chain.complete("one"))

    assert (await face("get_chain", chain_id)).open


async def test_connection_without_a_transaction_is_rejected(face: Face) -> None:
    """Otherwise the lock would be released at the end of its statement."""
    chain_id = await start(face)
    async with face.transaction() as connection:
        await done(connection.set_autocommit(True))
        with pytest.raises(ConfigError, match="not in a transaction"):
            async with completing(face, chain_id, connection=connection):
                pass


async def test_finished_chain_has_no_task_to_complete(face: Face) -> None:
    chain_id = await start(face)
    await face("complete", chain_id)

    async with completing(face, chain_id) as chain:
        assert chain.task is None


async def test_block_for_a_missing_chain_is_rejected(face: Face) -> None:
    with pytest.raises(ChainNotFound):
        async with completing(face, 4711):
            pass


async def test_chains_are_deleted_with_their_needs(face: Face) -> None:
    needed = await start(face)
    chain_id = await start(face, needs=[needed])

    assert await face("delete_chains", [chain_id, 4711], cascade=True) == {needed: 1, chain_id: 1}

    assert await face("list_chains") == []


async def test_chain_that_is_needed_cannot_be_deleted(face: Face) -> None:
    """The error names chain and dependent task."""
    chain_id = await start(face)
    dependent = await start(face, needs=[chain_id])

    with pytest.raises(ChainNeeded) as refusal:
        await face("delete_chains", chain_id)

    assert (refusal.value.chain_id, refusal.value.task_id) == (chain_id, dependent)
