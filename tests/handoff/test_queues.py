"""Guarantees of every kind of queue on a real Redis: order, and each entry is taken exactly once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from rolecall.config.handoff import HandoffKind
from rolecall.handoff.lanes import Band, Lane, Message
from rolecall.handoff.lists import ListQueue
from rolecall.handoff.queues import BandQueues, HandoffQueue, kind_for
from rolecall.handoff.simple import SimpleQueue
from rolecall.handoff.streams import StreamQueue
from rolecall.transport.brokers import RedisAway, RedisLink, connect_redis
from tests.brokers import Broker, redis

MAIL = Lane(Band.LOW, "mail")
URGENT = Lane(Band.HIGH, "mail")
REPORTS = Lane(Band.LOW, "reports")
KINDS: dict[str, Callable[[RedisLink, str], HandoffQueue]] = {
    "streams": StreamQueue,
    "lists": ListQueue,
    "simple": SimpleQueue,
}

Open = Callable[[str], HandoffQueue]


@pytest.fixture(scope="module", params=["redis-server", "valkey-server"])
def server(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with redis(by=request.param) as broker:
        yield broker


@pytest.fixture(params=KINDS)
async def named(request: pytest.FixtureRequest, server: Broker) -> AsyncIterator[Open]:
    """Makes a queue of one kind on an empty server, for a worker with this name."""
    link = connect_redis(server.url)
    await link.call("FLUSHALL")
    yield lambda name: KINDS[request.param](link, name)
    await link.close()


async def ids_of(queue: HandoffQueue, lanes: list[Lane], most: int = 10) -> list[int | None]:
    return [entry.task_id for entry in await queue.take(lanes, most)]


def messages(*task_ids: int) -> list[Message]:
    return [Message(task_id=task_id) for task_id in task_ids]


async def test_entries_are_taken_in_push_order(named: Open) -> None:
    queue = named("one")
    await queue.push(MAIL, messages(1, 2), 9, 9)
    await queue.push(MAIL, messages(3), 9, 9)
    assert await ids_of(queue, [MAIL], 2) == [1, 2]
    assert await ids_of(queue, [MAIL]) == [3]


async def test_high_lane_and_first_role_are_taken_before_others(named: Open) -> None:
    queue = named("one")
    for lane, task_id in ((REPORTS, 3), (MAIL, 2), (URGENT, 1)):
        await queue.push(lane, messages(task_id), 9, 9)
    assert await ids_of(queue, [URGENT, MAIL, REPORTS], 2) == [1, 2]
    assert await ids_of(queue, [URGENT, MAIL, REPORTS], 2) == [3]


async def test_each_entry_is_taken_once(named: Open) -> None:
    queues = [named(name) for name in ("one", "two", "three")]
    await queues[0].push(MAIL, messages(*range(1, 61)), 60, 60)
    taken = await asyncio.gather(*(queue.take([MAIL], 20) for queue in queues))
    assert sorted(entry.task_id or 0 for entries in taken for entry in entries) == list(range(1, 61))


async def test_id_is_pushed_once_by_several_dispatchers_until_it_is_acknowledged(named: Open) -> None:
    one, two = named("one"), named("two")
    pushed = await asyncio.gather(*(queue.push(MAIL, messages(1, 2), 9, 9) for queue in (one, two)))
    assert sorted(pushed, key=len) in ([set(), {1, 2}], [{1}, {2}], [{2}, {1}])
    entries = await one.take([MAIL], 9)
    assert await two.push(MAIL, messages(1), 9, 9) == set()
    await one.ack(entries)
    assert await two.push(MAIL, messages(1), 9, 9) == {1}


async def test_push_wakes_a_worker_waiting_on_several_lanes(named: Open) -> None:
    worker = named("worker")
    waiting = asyncio.create_task(until_taken(worker, [URGENT, MAIL, REPORTS]))
    await named("dispatcher").push(REPORTS, messages(7), 9, 9)
    async with asyncio.timeout(5):
        assert await waiting == [7]


async def until_taken(queue: HandoffQueue, lanes: list[Lane]) -> list[int | None]:
    while not (taken := await ids_of(queue, lanes)):
        await queue.wait(lanes)
    return taken


async def test_wait_without_a_push_times_out(named: Open) -> None:
    async with asyncio.timeout(5):
        assert not await named("one").wait([MAIL, URGENT])


async def test_unacknowledged_entries_of_a_dead_worker_return_to_the_front(named: Open) -> None:
    dead, alive = named("dead"), named("alive")
    await alive.push(MAIL, messages(1, 2, 3), 9, 9)
    await dead.take([MAIL], 2)
    left = sorted(await alive.stale(MAIL, 0), key=lambda entry: entry.task_id or 0)

    assert await alive.put_back(left) == 2
    assert not await alive.stale(MAIL, 0)
    assert await ids_of(alive, [MAIL]) == [1, 2, 3]


async def test_recently_taken_entry_is_not_stale(named: Open) -> None:
    queue = named("one")
    await queue.push(MAIL, messages(1), 9, 9)
    await queue.take([MAIL], 1)
    assert not await queue.stale(MAIL, 30)


async def test_acknowledged_entries_leave_nothing_behind(named: Open) -> None:
    queue = named("one")
    await queue.push(MAIL, messages(1, 2), 9, 9)
    await queue.ack(await queue.take([MAIL], 9))
    assert await queue.stale(MAIL, 0) == []
    (length,) = await queue.lengths([MAIL])
    assert (length.waiting, length.taken, length.oldest) == (0, 0, None)


async def test_lengths_report_waiting_taken_and_the_oldest_entry(named: Open) -> None:
    queue = named("one")
    (message,) = messages(1)
    await queue.push(MAIL, [message, *messages(2, 3)], 9, 9)
    await queue.take([MAIL], 1)
    mail, reports = await queue.lengths([MAIL, REPORTS])
    assert (mail.waiting, mail.taken, reports.waiting) == (2, 1, 0)


async def test_mark_without_an_entry_is_removed(named: Open, server: Broker) -> None:
    queue, link = named("one"), connect_redis(server.url)
    await queue.push(MAIL, messages(1, 2), 9, 9)
    await link.call("ZADD", MAIL.key("out"), 1, 99)
    await queue.take([MAIL], 1)
    assert await queue.forget_lost(MAIL, 0) == 1
    assert await queue.push(MAIL, messages(1, 2, 99), 9, 9) == {99}
    await link.close()


async def test_invalid_message_is_taken_as_such_and_can_be_removed(server: Broker) -> None:
    link = connect_redis(server.url)
    await link.call("FLUSHALL")
    queue = ListQueue(link, "one")
    await link.call("RPUSH", MAIL.key(), b"{\xff")
    await link.call("RPUSH", MAIL.key(), '{"task_id": 7}')
    bad, good = await queue.take([MAIL], 9)
    assert (bad.message, good.task_id) == (None, 7)
    await queue.ack([bad])
    assert await queue.stale(MAIL, 0) == [good]
    await link.close()


async def test_lrange_reads_lists_oldest_first(server: Broker) -> None:
    link = connect_redis(server.url)
    await link.call("FLUSHALL")
    queue = ListQueue(link, "one")
    await queue.push(MAIL, messages(1, 2), 9, 9)
    await queue.push(MAIL, messages(3), 9, 9)
    await queue.take([MAIL], 1)
    lying = await link.calls([("LRANGE", key, 0, -1) for key in ("rolecall:{mail}:low", MAIL.key("processing:one"))])
    assert [[json.loads(raw)["task_id"] for raw in raws] for raws in lying] == [[2, 3], [1]]
    await link.close()


async def test_redis_after_data_loss_accepts_the_same_ids_again(named: Open, server: Broker) -> None:
    queue, link = named("one"), connect_redis(server.url)
    await queue.push(MAIL, messages(1), 9, 9)
    entries = await queue.take([MAIL], 1)
    await link.call("FLUSHALL")
    await queue.ack(entries)
    assert await queue.put_back(entries) == 0
    await queue.push(MAIL, messages(1), 9, 9)
    assert set(await ids_of(queue, [MAIL])) == {1}
    await link.close()


@asynccontextmanager
async def kind_of(*options: str) -> AsyncIterator[HandoffKind]:
    with redis(*options) as server:
        link = connect_redis(server.url)
        yield await kind_for(link)
        await link.close()


@pytest.mark.parametrize(
    ("lacks", "kind"),
    [((), "streams"), (("XLEN",), "lists"), (("EVAL", "EVALSHA"), "simple")],
)
async def test_queue_kind_depends_on_the_server_capabilities(lacks: tuple[str, ...], kind: str) -> None:
    options = [part for command in lacks for part in ("--rename-command", command, "")]
    async with kind_of(*options) as found:
        assert found == kind


@pytest.mark.parametrize("lacks", [(), ("BLMOVE", "LMOVE")])
async def test_simple_kind_waits_for_one_list_in_the_right_direction(lacks: tuple[str, ...]) -> None:
    hidden = [part for command in ("EVAL", "EVALSHA", "XADD", *lacks) for part in ("--rename-command", command, "")]
    with redis(*hidden) as server:
        link = connect_redis(server.url)
        queue = SimpleQueue(link, "one")
        await queue.push(MAIL, messages(1, 2), 9, 9)
        assert await queue.wait([MAIL])
        assert await ids_of(queue, [MAIL]) == [1, 2]
        await link.close()


async def test_each_band_can_have_its_own_server(server: Broker) -> None:
    with redis() as other:
        low, high = connect_redis(server.url), connect_redis(other.url)
        await low.call("FLUSHALL")
        queue = BandQueues({Band.HIGH: StreamQueue(high, "one"), Band.LOW: StreamQueue(low, "one")})
        await queue.push(MAIL, messages(1), 9, 9)
        await queue.push(URGENT, messages(2), 9, 9)
        assert await high.call("DBSIZE")
        assert await queue.wait([URGENT, MAIL])
        entries = await queue.take([URGENT, MAIL], 9)
        assert [entry.task_id for entry in entries] == [2, 1]
        await queue.ack(entries)
        assert [length.taken for length in await queue.lengths([MAIL, URGENT])] == [0, 0]
        for link in (low, high):
            await link.close()


async def test_unavailable_server_is_reported(redis_server: Broker) -> None:
    link = connect_redis(redis_server.url)
    queue = StreamQueue(link, "one")
    redis_server.kill()
    with pytest.raises(RedisAway):
        await queue.take([MAIL], 1)
    redis_server.start()
    assert await queue.take([MAIL], 1) == []
    await link.close()
