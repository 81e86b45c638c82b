"""Entry handlers can start a chain; other handlers can only continue one."""

from __future__ import annotations

import psycopg
import pytest

from rolecall import App, ContractBroken, HandlerMissing, NewTask
from tests.client.conftest import Face, Kind


@pytest.fixture
def app() -> App:
    app = App("post")

    @app.task(continues=["deliver"])
    def collect(n: int) -> None: ...

    @app.task(entry=False)
    def deliver(n: int) -> None: ...

    @app.task(needs=["collect", ...])
    def count() -> None: ...

    @app.task(needs=["collect"])
    def weigh() -> None: ...

    return app


@pytest.mark.parametrize("how", ["handler", "name", "task"])
async def test_non_entry_handler_is_not_enqueued(face: Face, app: App, how: str) -> None:
    deliver = app.handlers["deliver"]
    what = {"handler": (deliver, {"n": 1}), "name": ("deliver", {"n": 1}), "task": (deliver.task(n=1),)}[how]

    with pytest.raises(
        ContractBroken, match="'deliver' cannot start a chain .*, but enqueue would start one"
    ) as refused:
        await face("enqueue", *what)

    assert (refused.value.code, refused.value.handler) == ("not_entry_point", "deliver")


async def test_batch_with_one_non_entry_handler_is_rejected_completely(face: Face, app: App, database: str) -> None:
    batch = [NewTask(handler=name, payload={"n": 1}) for name in ("collect", "deliver")]
    with pytest.raises(ContractBroken):
        await face("enqueue_many", batch)

    with psycopg.connect(database, autocommit=True) as connection:
        assert connection.execute("select count(*) from rolecall.all_tasks").fetchone() == (0,)


async def test_entry_handler_is_enqueued(face: Face) -> None:
    stored = await face("enqueue", "collect", {"n": 1})

    assert (await face("get", stored.id)).handler == "collect"


async def test_non_entry_handler_is_rejected_by_a_client_without_an_app(kind: Kind, app: App, database: str) -> None:
    face = Face(kind, database)

    with pytest.raises(ContractBroken):
        await face("enqueue", app.handlers["deliver"], {"n": 1})

    await face("close")


async def test_app_with_links_to_missing_handlers_is_rejected_at_the_first_enqueue(kind: Kind, database: str) -> None:
    app = App("broken")
    app.task("first", continues=["nobody"])(lambda: None)
    face = Face(kind, database, app)

    with pytest.raises(HandlerMissing, match="nobody"):
        await face("enqueue", "first")

    await face("close")


async def test_needs_of_a_task_must_be_of_the_declared_handlers(face: Face, app: App) -> None:
    collect = app.handlers["collect"].task(n=1)

    stored = await face("enqueue_many", [collect, NewTask(handler="count", needs=[collect])])
    await face("enqueue_many", [NewTask(handler="weigh", needs=[stored[0]])])
    for needs in ([], [NewTask(handler="count")], [stored[0], stored[0]]):
        with pytest.raises(ContractBroken, match="'weigh' needs") as refused:
            await face("enqueue", NewTask(handler="weigh", needs=needs))
        assert refused.value.code == "invalid_needs"
