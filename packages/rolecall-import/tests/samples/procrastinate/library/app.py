"""The app of a library, as its users write it."""

import procrastinate
from procrastinate import Blueprint, RetryStrategy

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo="postgresql://"),
    import_paths=["library.loans"],
)

returns = Blueprint()


@returns.task(name="remind", queue="mail", retry=RetryStrategy(max_attempts=5, exponential_wait=3))
def remind(reader: int, *, book: str = "the book") -> str:
    return f"{reader}: bring {book} back"


@returns.task(retry=3, lock="catalogue", queueing_lock="rebuild", priority=5)
async def rebuild_catalogue() -> None: ...


app.add_tasks_from(returns, namespace="returns")
