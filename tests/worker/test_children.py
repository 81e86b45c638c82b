"""A handler that spawns children waits for them without a slot, and continues with its gather step."""

from __future__ import annotations

from typing import Any

import pytest

from rolecall import (
    App,
    Client,
    Context,
    InvalidTask,
    Need,
    NewTask,
    PermanentFailure,
    Task,
    TaskState,
    WaitFor,
    immediate,
)
from rolecall.testing import drain


@pytest.fixture
def app() -> App:
    return App("test")


async def run_one(app: App, database: str, task: NewTask) -> Task:
    """Run a task and everything that follows from it; return the finished task."""
    with Client(database, app=app) as client:
        stored = client.enqueue(task)
        await drain(app, database)
        return client.get(stored.id)


async def test_gather_step_sees_the_outcomes_of_the_children(app: App, database: str) -> None:
    """The handler spawns children, waits, and continues with their results."""

    @app.task
    async def square(ctx: Context, n: int) -> int:
        return n * n

    async def add_up(ctx: Context, upto: int) -> int:
        assert ctx.step == 1
        return sum(child.result for child in await ctx.children())

    @app.task(gather=add_up)
    async def squares(ctx: Context, upto: int) -> None:
        ctx.spawn(*(square.task(n=n) for n in range(1, upto + 1)))

    task = await run_one(app, database, squares.task(upto=4))

    assert (task.state, task.result) == (TaskState.COMPLETED, 30)


async def test_gather_step_can_read_the_children_of_one_handler(app: App, database: str) -> None:
    @app.task
    async def square(n: int) -> int:
        return n * n

    @app.task
    async def note(n: int) -> str:
        return f"squared {n}"

    async def add_up(ctx: Context) -> int:
        assert len(await ctx.children()) == 4
        return sum(child.result for child in await ctx.children(square))

    @app.task(gather=add_up)
    async def squares(ctx: Context) -> None:
        ctx.spawn(square.task(n=2), note.task(n=2), square.task(n=3), note.task(n=3))

    assert (await run_one(app, database, squares.task())).result == 13


async def test_task_can_read_its_needs_of_one_handler(app: App, database: str) -> None:
    @app.task
    async def price() -> int:
        return 7

    @app.task
    async def stock() -> str:
        return "plenty"

    @app.task
    async def offer(ctx: Context) -> list[int]:
        assert len(await ctx.needs()) == 2
        return [need.result for need in await ctx.needs(price)]

    with Client(database, app=app) as client:
        needed = [price.task(), stock.task()]
        *_, stored = client.enqueue_many([*needed, offer.task().options(needs=needed)])
        await drain(app, database)

        assert client.get(stored).result == [7]


async def test_parent_without_a_gather_step_completes_with_its_own_result(app: App, database: str) -> None:

    @app.task
    async def leaf(ctx: Context) -> None: ...

    @app.task
    async def root(ctx: Context) -> str:
        ctx.spawn(leaf.task(), leaf.task())
        return "spawned"

    task = await run_one(app, database, root.task())

    assert (task.state, task.result, task.open_children) == (TaskState.COMPLETED, "spawned", 0)


async def test_serial_children_run_in_sequence(app: App, database: str) -> None:
    order: list[str] = []

    @app.task
    async def step(ctx: Context, name: str) -> None:
        order.append(f"{name} begins")
        if name == "b":
            raise PermanentFailure("no")
        order.append(f"{name} ends")

    @app.task
    async def root(ctx: Context) -> None:
        ctx.spawn(*(step.task(name=name).options(on_failure="ignore") for name in "abc"), serial=True)

    task = await run_one(app, database, root.task())

    assert order == ["a begins", "a ends", "b begins", "c begins", "c ends"]
    assert task.state == TaskState.COMPLETED


async def test_failed_child_fails_its_parent_once_all_children_have_finished(app: App, database: str) -> None:
    seen: list[int] = []

    @app.task
    async def leaf(ctx: Context, n: int) -> None:
        if n == 0:
            raise PermanentFailure("no")
        seen.append(await ctx.failed_siblings())

    @app.task
    async def root(ctx: Context) -> None:
        ctx.spawn(leaf.task(n=0), leaf.task(n=1).options(priority=-1))

    task = await run_one(app, database, root.task())

    assert (task.state, task.error) == (TaskState.FAILED, "One or more child tasks failed")
    assert len(seen) == 1


async def test_children_can_spawn_children_and_siblings(app: App, database: str) -> None:

    @app.task
    async def walk(ctx: Context, depth: int) -> None:
        if depth == 3:
            await ctx.info({"ends": 1})
        if depth == 1:
            ctx.spawn_sibling(walk.task(depth=3))
        if depth < 3:
            ctx.spawn(walk.task(depth=depth + 1))

    with Client(database, app=app) as client:
        root = client.enqueue(walk.task(depth=0))
        await drain(app, database)
        tree = client.tree(root.id)

    assert [node.depth for node in tree] == [0, 1, 1, 2, 3]
    assert {node.state for node in tree} == {TaskState.COMPLETED}
    assert tree[0].info == {"ends": 2}, "the infos are summed in the root"


async def test_retried_step_spawns_its_children_only_once(app: App, database: str) -> None:
    """Children are stored with the end of the step, or not at all."""
    attempts: list[int] = []

    @app.task
    async def leaf(ctx: Context) -> None: ...

    @app.task(max_attempts=3, retry=immediate())
    async def root(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        ctx.spawn(leaf.task())
        if ctx.attempt == 1:
            raise ValueError("not yet")

    with Client(database, app=app) as client:
        stored = client.enqueue(root.task())
        await drain(app, database)
        assert len(client.tree(stored.id)) == 2


async def test_mix_of_serial_and_concurrent_children_is_rejected(app: App, database: str) -> None:

    @app.task(max_attempts=1)
    async def root(ctx: Context) -> None:
        ctx.spawn(root.task())
        with pytest.raises(InvalidTask, match="serial"):
            ctx.spawn(root.task(), serial=True)
        raise PermanentFailure("seen")

    error = (await run_one(app, database, root.task())).error
    assert error is not None
    assert 'PermanentFailure("seen")' in error


async def test_continuation_is_another_task_of_the_chain(app: App, database: str) -> None:

    @app.task
    async def second(ctx: Context) -> str:
        return f"after {ctx.chain_id}"

    @app.task
    async def first(ctx: Context) -> None:
        ctx.continue_with(second.task())
        with pytest.raises(InvalidTask, match="once"):
            ctx.continue_with(second.task())

    with Client(database, app=app) as client:
        stored = client.enqueue(first.task())
        await drain(app, database)
        last = client.get(stored.id + 1)

    assert (last.chain_id, last.chain_index, last.result) == (stored.id, 1, f"after {stored.id}")


async def test_task_runs_after_its_needs_finish_and_reads_their_results_by_name(app: App, database: str) -> None:

    @app.task
    async def part(ctx: Context, n: int) -> int:
        return n

    @app.task
    async def whole(ctx: Context) -> dict[str, int]:
        return {str(need.name): need.result for need in await ctx.needs()}

    one, two = part.task(n=1), part.task(n=2)
    both = whole.task().options(needs=[Need(two, name="two"), Need(one, name="one")])
    with Client(database, app=app) as client:
        *_, stored = client.enqueue_many([one, two, both])
        assert client.get(stored.id).state == TaskState.BLOCKED
        await drain(app, database)
        assert client.get(stored.id).result == {"two": 2, "one": 1}


async def test_running_task_can_wait_for_other_tasks_and_runs_again(app: App, database: str) -> None:

    @app.task
    async def part(ctx: Context) -> str:
        return "done"

    with Client(database, app=app) as client:

        @app.task(max_attempts=1)
        async def whole(ctx: Context) -> object:
            needs = await ctx.needs()
            if not needs:
                return WaitFor(client.enqueue(part.task()))
            return [need.result for need in needs]

        assert (await run_one(app, database, whole.task())).result == ["done"]


@pytest.mark.parametrize("way", ["async", "without a context", "in a thread", "in its own transaction"])
async def test_gather_step_runs_without_children(app: App, database: str, way: str) -> None:
    async def gathered(ctx: Context, upto: int) -> str:
        return f"step {ctx.step}: {len(await ctx.children())} children"

    async def spawning(ctx: Context, upto: int) -> None:
        ctx.spawn(*(spreading.task(upto=0) for _ in range(upto)))

    async def plain(upto: int) -> None: ...

    def threaded(upto: int) -> None: ...

    async def completing(ctx: Context, upto: int) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx)

    functions: dict[str, Any] = {
        "async": spawning,
        "without a context": plain,
        "in a thread": threaded,
        "in its own transaction": completing,
    }
    spreading = app.task("spreading", gather=gathered, max_attempts=1)(functions[way])

    task = await run_one(app, database, spreading.task(upto=0))

    assert (task.state, task.result, task.error) == (TaskState.COMPLETED, "step 1: 0 children", None)


async def test_gather_step_without_children_can_store_follow_ups(app: App, database: str) -> None:
    steps: list[int] = []

    @app.task
    async def note() -> None: ...

    async def gathered(ctx: Context) -> None:
        steps.append(ctx.step)
        ctx.follow_up(note.task())

    @app.task(gather=gathered, max_attempts=1)
    async def spread() -> None: ...

    assert (await run_one(app, database, spread.task())).state is TaskState.COMPLETED
    assert steps == [1]


async def test_gather_step_sees_children_added_from_outside(app: App, database: str) -> None:
    @app.task
    async def square(n: int) -> int:
        return n * n

    async def add_up(ctx: Context) -> int:
        return sum(child.result for child in await ctx.children(square))

    with Client(database, app=app) as client:

        @app.task(gather=add_up, max_attempts=1)
        async def spread(ctx: Context) -> None:
            client.spawn(ctx.task_id, [square.task(n=2), square.task(n=3)])

        assert (await run_one(app, database, spread.task())).result == 13


async def test_first_step_that_continues_the_chain_fails_without_retry(app: App, database: str) -> None:
    attempts: list[int] = []

    async def gathered(ctx: Context) -> None: ...

    @app.task(gather=gathered, max_attempts=5, retry=immediate())
    async def spread(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        ctx.continue_with(spread.task())

    task = await run_one(app, database, spread.task())

    assert (task.state, attempts) == (TaskState.FAILED, [1])
    assert task.error == "handler 'spread' can continue its chain only in its last step: do it in the gather step"


async def test_handler_without_a_gather_step_completes_if_it_spawns_nothing(app: App, database: str) -> None:
    @app.task(max_attempts=1)
    async def spread(ctx: Context) -> str:
        ctx.spawn()
        ctx.spawn(serial=True)
        ctx.follow_up()
        ctx.spawn_sibling()
        return f"{len(await ctx.children())} children, {len(await ctx.needs())} needs"

    task = await run_one(app, database, spread.task().options(needs=[]))

    assert (task.state, task.result) == (TaskState.COMPLETED, "0 children, 0 needs")
