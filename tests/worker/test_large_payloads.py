"""Large payload fields are stored in a folder: rows contain pointers, and handlers receive the values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest

from rolecall import App, AsyncClient, Client, Context, Need, NewTask, Redacted, immediate
from rolecall.db.run import run
from rolecall.model.errors import PayloadMissing
from rolecall.results import LargeValues
from rolecall.sql import enqueue, structure
from tests.worker.bench import Bench
from tests.worker.crunching import count_letters

LARGE = "x" * 2_000_000
POINTER = {"rolecall": "payload field stored elsewhere"}


@dataclass
class Item:
    n: int
    text: str


@pytest.fixture
def large(tmp_path: Path) -> LargeValues:
    return LargeValues(tmp_path / "large", over=100)


@pytest.fixture
def bench(bench: Bench, large: LargeValues) -> Bench:
    bench.app = App("test", large=large)
    return bench


@pytest.fixture
def client(bench: Bench) -> Iterator[Client]:
    with Client(bench.dsn, app=bench.app) as client:
        yield client


def stored(bench: Bench, task_id: int) -> Any:
    return bench.task(task_id).payload


def kept_in(folder: Path) -> list[Path]:
    return sorted((folder / "large").iterdir()) if (folder / "large").exists() else []


async def test_payload_larger_than_a_row_reaches_the_handler(bench: Bench, client: Client, tmp_path: Path) -> None:
    """Small fields stay in the row for keys, filters and pages."""

    @bench.app.task(key="order:{order}")
    async def ship(order: int, note: str, labels: dict[str, list[str]]) -> list[object]:
        return [order, len(note), len(labels["a"])]

    task = client.enqueue(ship, order=7, note=LARGE, labels={"a": ["b"] * 100})
    async with bench.working():
        [done] = await bench.finished(task.id)

    assert (done.result, done.key) == ([7, len(LARGE), 100], "order:7")
    assert done.payload["order"] == 7
    assert done.payload["note"].items() > (POINTER | {"bytes": len(LARGE) + 2}).items()
    assert len(kept_in(tmp_path)) == 2


async def test_threads_processes_and_batches_receive_large_payloads(bench: Bench, client: Client) -> None:
    @bench.app.task
    def threaded(text: str) -> int:
        return len(text)

    @bench.app.task(batch=3)
    async def together(items: list[Item]) -> list[int]:
        return [item.n + len(item.text) for item in items]

    crunched = bench.app.task(process=True)(count_letters)
    ids = [
        client.enqueue(threaded, text=LARGE).id,
        client.enqueue(crunched, text=LARGE).id,
        *(each.id for each in client.enqueue_many(together.task(n=n, text="y" * 200) for n in range(2))),
        client.enqueue(together, n=5, text="small").id,
    ]
    async with bench.working():
        done = await bench.finished(*ids)

    assert [task.result for task in done] == [len(LARGE), len(LARGE), 200, 201, 10]


async def test_large_payloads_of_tasks_spawned_by_handlers_are_stored_as_pointers(bench: Bench, client: Client) -> None:
    """Covers children, their siblings, continuations and rules; returned, or completed by the handler itself."""

    @bench.app.task
    async def leaf(text: str) -> int:
        return len(text)

    @bench.app.task
    async def family(ctx: Context) -> None:
        ctx.spawn(leaf.task(text="a" * 200), leaf.task(text="b" * 300))

    @bench.app.task(then=lambda _: [leaf.task(text="c" * 400)])
    async def ruled(ctx: Context) -> None:
        ctx.follow_up(leaf.task(text="d" * 500))
        ctx.continue_with(leaf.task(text="e" * 600))

    @bench.app.task
    async def by_itself(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            ctx.follow_up(leaf.task(text="f" * 700))
            await ctx.complete(tx)

    ids = [client.enqueue(each).id for each in (family, ruled, by_itself)]
    async with bench.working():
        await bench.finished(*ids)
        query = "select array_agg((result::text)::int) from rolecall.finished_tasks where result is not null"
        async with asyncio.timeout(30):
            while sorted(bench.ask(query) or []) != [200, 300, 400, 500, 600, 700]:
                await asyncio.sleep(0.02)

    assert bench.ask("select count(*) from rolecall.all_tasks where payload -> 'text' ->> 'rolecall' is null") == 3


async def test_large_payloads_of_all_client_calls_are_stored_as_pointers(bench: Bench, client: Client) -> None:
    @bench.app.task
    async def leaf(text: str) -> None: ...

    text, task = "x" * 200, leaf.task(text="x" * 200)
    waiting = client.enqueue(leaf, text="small")
    worker_id = bench.ask("select rolecall.register_worker('w', '{}', '{leaf}', 1, 'h', 1, '0')")
    bench.ask("select id from rolecall.claim(%s, '{}', '{leaf}', 1)", worker_id)
    client.spawn(waiting.id, [task])
    client.complete(client.enqueue(leaf, text="1").id, follow_ups=[task])
    with client.completing(client.enqueue(leaf, text="2").id) as chain:
        chain.complete(continue_with=task)
    async with AsyncClient(bench.dsn, app=bench.app) as other:
        await other.enqueue(leaf, text=text)
        await other.spawn(waiting.id, [task])
        await other.complete((await other.enqueue(leaf, text="3")).id, follow_ups=[task])
        await other.complete_chain((await other.enqueue(leaf, text="4")).id, continue_with=task)
        await leaf.aenqueue(text=text)
        async with other.completing((await other.enqueue(leaf, text="5")).id) as held:
            await held.complete(continue_with=task)

    query = "select count(*) from rolecall.all_tasks where payload -> 'text' ->> 'rolecall' = %s"
    assert bench.ask(query, POINTER["rolecall"]) == 9


async def test_async_client_does_not_block_its_loop_while_storing(bench: Bench, large: LargeValues) -> None:
    """The loop runs while the store writes."""

    @bench.app.task
    async def leaf(text: str) -> None: ...

    loop, here = asyncio.get_running_loop(), []
    put = large._store.put

    def noting(path: str, content: bytes) -> None:
        here.append(asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "the loop goes on"), loop).result(10))
        put(path, content)

    large._store.put = noting  # type: ignore[method-assign]  # around the real one
    async with AsyncClient(bench.dsn, app=bench.app) as client:
        await client.enqueue(leaf, text=LARGE)

    assert here == ["the loop goes on"]


async def test_tasks_of_a_batch_with_large_payloads_can_need_each_other(bench: Bench, client: Client) -> None:
    @bench.app.task
    async def leaf(text: str) -> int:
        return len(text)

    first = leaf.task(text="x" * 200)
    second = leaf.task(text="small").options(needs=[Need(first, name="first")])
    third = leaf.task(text="y" * 300).options(needs=[first, second])

    ids = [each.id for each in client.enqueue_many([first, second, third])]

    assert [need.task_id for need in run(bench.connection, structure.needs(ids[2]))] == ids[:2]


def test_rolled_back_enqueue_leaves_an_object_but_no_task(bench: Bench, client: Client, tmp_path: Path) -> None:
    @bench.app.task
    def leaf(text: str) -> None: ...

    with psycopg.connect(bench.dsn) as own:
        client.enqueue(leaf.using(connection=own), text=LARGE)
        own.rollback()

    assert bench.ask("select count(*) from rolecall.all_tasks") == 0
    assert len(kept_in(tmp_path)) == 1


def test_pointer_committed_with_the_callers_rows_refers_to_a_complete_object(
    bench: Bench, client: Client, large: LargeValues
) -> None:
    @bench.app.task
    def leaf(text: str) -> None: ...

    with psycopg.connect(bench.dsn) as own:
        task = client.enqueue(leaf.using(connection=own), text=LARGE)

    assert large.read_now(client.get(task).payload) == {"text": LARGE}


def test_enqueue_stores_nothing_while_the_store_is_unavailable(bench: Bench, client: Client, tmp_path: Path) -> None:
    @bench.app.task
    def leaf(text: str) -> None: ...

    (tmp_path / "large").write_text("no folder")

    with pytest.raises(PayloadMissing, match="a field of a payload cannot be stored"):
        client.enqueue(leaf, text=LARGE)
    assert bench.ask("select count(*) from rolecall.all_tasks") == 0


async def test_attempt_fails_while_the_store_is_unavailable_and_is_retried(
    bench: Bench, client: Client, tmp_path: Path
) -> None:
    @bench.app.task(retry=immediate(), max_attempts=50)
    async def leaf(text: str) -> int:
        return len(text)

    task = client.enqueue(leaf, text=LARGE)
    (tmp_path / "large").rename(tmp_path / "away")
    async with bench.working():
        await bench.ended_once(task.id)
        error = str(bench.task(task.id).error)
        (tmp_path / "away").rename(tmp_path / "large")
        [done] = await bench.finished(task.id)

    assert "PayloadMissing: the field 'text' of the payload cannot be read: " in error
    assert (done.result, done.attempt > 1) == (len(LARGE), True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda pointer, kept: kept.write_bytes(b'"another"'), "has been changed"),
        (lambda pointer, kept: kept.unlink(), "cannot be read"),
        (lambda pointer, kept: pointer.update(store="file:///etc"), "is stored as"),
        (lambda pointer, kept: pointer.update(store="s3://elsewhere"), "is stored as"),
        (lambda pointer, kept: pointer.update(path="../secret.json"), "is stored as"),
        (lambda pointer, kept: pointer.update(path="7-1-abcdef01.json"), "is stored as"),
    ],
)
async def test_worker_reads_only_the_stored_payload_and_rejects_any_other_pointer(
    bench: Bench, client: Client, tmp_path: Path, change: Any, problem: str
) -> None:
    """Covers changed and deleted values, and pointers to other places, folders and results, written in SQL."""

    @bench.app.task(max_attempts=1)
    async def leaf(text: str) -> int:
        return len(text)

    payload = stored(bench, client.enqueue(leaf, text=LARGE).id)
    change(payload["text"], kept_in(tmp_path)[0])
    bench.ask("select rolecall.cancel(array(select id from rolecall.tasks))")
    [task_id] = [
        each.id for each in run(bench.connection, enqueue.enqueue_many([NewTask(handler="leaf", payload=payload)]))
    ]
    async with bench.working():
        [task] = await bench.finished(task_id)

    assert "PayloadMissing" in str(task.error)
    assert problem in str(task.error)


async def test_worker_without_the_store_reports_the_missing_setting(bench: Bench, client: Client) -> None:
    @bench.app.task(max_attempts=1)
    async def leaf(text: str) -> None: ...

    task = client.enqueue(leaf, text=LARGE)
    bench.app.large = None
    async with bench.working():
        [done] = await bench.finished(task.id)

    assert "the field 'text' of the payload is stored elsewhere: pass large= to this App as well" in str(done.error)


async def test_large_result_is_kept_in_the_same_store(bench: Bench, client: Client, large: LargeValues) -> None:
    @bench.app.task
    async def export(text: str) -> list[str]:
        return [text]

    task = client.enqueue(export, text=LARGE)
    async with bench.working():
        [done] = await bench.finished(task.id)

    assert done.result["rolecall"] == "result stored elsewhere"
    assert await large.read(done.result) == [LARGE]
    assert await large.read(done.payload) == {"text": LARGE}
    assert await large.read({"text": "small"}) == {"text": "small"}


async def test_included_app_uses_the_store_of_its_parent_app(bench: Bench, client: Client, tmp_path: Path) -> None:
    other = LargeValues(tmp_path / "other", over=10)
    slice_ = App("slice", large=other)

    @slice_.task
    async def export(text: str) -> str:
        return text

    bench.app.include(slice_)
    task = client.enqueue(export, text=LARGE)
    async with bench.working():
        [done] = await bench.finished(task.id)

    assert {done.payload["text"]["store"], done.result["store"]} == {(tmp_path / "large").as_uri()}
    assert not (tmp_path / "other").exists()


def test_payload_of_a_procedure_or_foreign_handler_stays_in_the_row(bench: Bench, client: Client) -> None:
    """Procedures cannot read a bucket, and handlers of another program may not be able to."""
    bench.connection.execute("create procedure crunch(payload jsonb) language sql as 'select 1'")
    bench.app.procedure("crunch", procedure="public.crunch")
    payload = {"text": "x" * 500}

    bench.connection.execute("""select rolecall.declare('[{"name": "other"}]')""")
    ids = [client.enqueue("crunch", payload).id, client.enqueue("elsewhere", payload, role="other").id]

    assert [stored(bench, each) for each in ids] == [payload, payload]


def test_large_redacted_field_is_stored_and_not_shown(bench: Bench, client: Client, tmp_path: Path) -> None:
    @bench.app.task
    def leaf(pem: Annotated[str, Redacted]) -> None: ...

    task = client.enqueue(leaf, pem=LARGE)

    assert stored(bench, task.id)["pem"]["rolecall"] == POINTER["rolecall"]
    assert json.loads(kept_in(tmp_path)[0].read_bytes()) == LARGE
