"""Traces connect enqueuing code, attempts and the tasks that they enqueue. Uses OpenTelemetry's own SDK."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rolecall import App, AsyncClient, Context, immediate
from rolecall.telemetry import Event, EventType
from rolecall.telemetry.opentelemetry import OpenTelemetry
from tests.telemetry.test_prometheus import Facts
from tests.worker import crunching
from tests.worker.bench import Bench, until


@dataclass
class Observed:
    """A program that traces, and the spans that an exporter has received."""

    bench: Bench
    exporter: InMemorySpanExporter
    provider: TracerProvider

    @property
    def app(self) -> App:
        return self.bench.app

    async def work(self, handler: Any, payload: dict[str, object] | None = None, **options: Any) -> int:
        """Enqueue a task with a client, and work until all tasks have finished."""
        async with AsyncClient(self.bench.dsn, app=self.app) as client:
            task = await client.enqueue(handler, payload or {}, **options)
        async with self.bench.working(slots=2):
            await self.bench.finished(task.id)
            left = "select count(*) from rolecall.tasks"
            await until(lambda: self.bench.ask(left) == 0)
        task_id: int = task.id
        return task_id

    def spans(self, name: str) -> list[ReadableSpan]:
        found = [span for span in self.exporter.get_finished_spans() if span.name == name]
        return sorted(found, key=lambda span: span.start_time or 0)

    def span(self, name: str) -> ReadableSpan:
        [span] = self.spans(name)
        return span


@pytest.fixture
def observed(bench: Bench) -> Iterator[Observed]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    bench.app = App("test", sinks=[OpenTelemetry(provider, MeterProvider())])
    yield Observed(bench, exporter, provider)
    provider.shutdown()


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def identity(span: ReadableSpan) -> int:
    assert span.context is not None
    number: int = span.context.span_id
    return number


def links(span: ReadableSpan) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for link in span.links:
        found.setdefault(str((link.attributes or {})["rolecall.relation"]), set()).add(link.context.span_id)
    return found


async def test_attempt_belongs_to_the_trace_that_enqueued_its_task(observed: Observed) -> None:
    @observed.app.task(role="mail")
    async def send() -> None: ...

    with observed.provider.get_tracer("shop").start_as_current_span("checkout") as checkout:
        task_id = await observed.work(send, key="store:7")

    enqueue, process = observed.span("enqueue send"), observed.span("process send")
    assert (enqueue.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert parent_of(enqueue) == checkout.get_span_context().span_id
    assert parent_of(process) == identity(enqueue)
    assert attributes_of(enqueue) == {
        "messaging.system": "rolecall",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.destination.name": "send",
        "messaging.message.id": str(task_id),
        "rolecall.deduplicated": 0,
    }
    worker_id = observed.bench.task(task_id).worker_id
    assert attributes_of(process) == {
        "messaging.system": "rolecall",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "send",
        "messaging.consumer.group.name": "mail",
        "messaging.message.id": str(task_id),
        "messaging.message.conversation_id": str(task_id),
        "messaging.client.id": str(worker_id),
        "rolecall.attempt": 1,
        "rolecall.key": "store:7",
        "rolecall.outcome": "completed",
    }


async def test_each_attempt_has_a_span_and_a_failed_one_its_error(observed: Observed) -> None:
    @observed.app.task(role="mail", retry=immediate(), max_attempts=2)
    def send() -> None:
        raise OSError("no route")

    await observed.work(send)

    attempts = observed.spans("process send")
    assert [attributes_of(span)["rolecall.attempt"] for span in attempts] == [1, 2]
    assert {parent_of(span) for span in attempts} == {identity(observed.span("enqueue send"))}
    assert attempts[0].status.status_code is StatusCode.ERROR
    assert (attempts[0].status.description, attributes_of(attempts[0])["error.type"]) == (
        "OSError: no route",
        "OSError",
    )


async def test_follow_ups_and_children_belong_to_the_attempt_that_created_them(observed: Observed) -> None:
    @observed.app.task
    async def leaf() -> None: ...

    @observed.app.task
    async def after() -> None: ...

    async def put_together(ctx: Context) -> None:
        ctx.follow_up(after.task())

    @observed.app.task(gather=put_together)
    async def root(ctx: Context) -> None:
        ctx.spawn(leaf.task(), leaf.task())

    await observed.work(root)

    first, gather = observed.spans("process root")
    enqueued, follow_up = observed.span("enqueue leaf"), observed.span("enqueue after")
    assert (parent_of(enqueued), parent_of(follow_up)) == (identity(first), identity(gather))
    assert attributes_of(enqueued)["messaging.batch.message_count"] == 2
    assert {parent_of(span) for span in observed.spans("process leaf")} == {identity(enqueued)}
    enqueue_root = identity(observed.span("enqueue root"))
    assert [links(span) for span in observed.spans("process leaf")] == [{"parent": {enqueue_root}}] * 2
    assert links(gather) == {"child": {identity(enqueued)}}
    assert links(observed.span("process after")) == {"origin": {enqueue_root}}


async def test_chain_continues_in_its_own_trace_and_links_to_the_previous_attempt(observed: Observed) -> None:
    @observed.app.task
    async def second() -> None: ...

    @observed.app.task
    async def first(ctx: Context) -> None:
        ctx.continue_with(second.task())

    await observed.work(first)

    begun, attempt = observed.span("enqueue first"), observed.span("process first")
    enqueued, follows = observed.span("enqueue second"), observed.span("process second")
    assert (parent_of(enqueued), links(enqueued)) == (identity(begun), {"origin": {identity(attempt)}})
    assert parent_of(follows) == identity(enqueued)


async def test_needs_of_a_task_are_linked(observed: Observed) -> None:
    @observed.app.task
    async def sales() -> None: ...

    @observed.app.task
    async def report() -> None: ...

    async with AsyncClient(observed.bench.dsn, app=observed.app) as client:
        needed = await client.enqueue(sales)
    await observed.work(report, needs=[needed.id])

    assert links(observed.span("process report")) == {"need": {identity(observed.span("enqueue sales"))}}


async def test_span_of_an_attempt_is_current_wherever_its_handler_runs(observed: Observed) -> None:
    observed.app.task("threaded")(crunching.trace_here)
    observed.app.task("apart", process=True)(crunching.trace_here)

    @observed.app.task
    async def called(ctx: Context) -> object:
        return [crunching.trace_here(), await ctx.in_process(crunching.trace_here)]

    results = {name: observed.bench.task(await observed.work(name)).result for name in ("threaded", "apart", "called")}

    def here(name: str) -> str:
        context = observed.span(f"process {name}").context
        assert context is not None
        return f"{context.trace_id:032x}-{context.span_id:016x}"

    assert results == {"threaded": here("threaded"), "apart": here("apart"), "called": [here("called")] * 2}


async def test_spans_created_by_a_handler_are_nested(observed: Observed) -> None:
    @observed.app.task
    async def bill(ctx: Context) -> None:
        async with ctx.prepare() as tx:
            await tx.execute("select 1")
        async with ctx.transaction() as tx:
            await ctx.complete(tx)

    await observed.work(bill)

    steps = [observed.span(name) for name in ("prepare", "complete")]
    assert {step.kind for step in steps} == {SpanKind.INTERNAL}
    assert {parent_of(step) for step in steps} == {identity(observed.span("process bill"))}
    assert attributes_of(observed.span("process bill"))["rolecall.outcome"] == "completed"


async def test_duplicate_is_a_span_attribute_and_not_an_error(observed: Observed) -> None:
    @observed.app.task
    async def once() -> None: ...

    async with AsyncClient(observed.bench.dsn, app=observed.app) as client:
        for _ in range(2):
            await client.enqueue(once, dedupe_key="a")

    spans = observed.spans("enqueue once")
    assert [attributes_of(span)["rolecall.deduplicated"] for span in spans] == [0, 1]
    assert {span.status.status_code for span in spans} == {StatusCode.UNSET}


async def test_untraced_task_starts_a_new_trace(observed: Observed) -> None:
    @observed.app.task
    async def tick() -> None: ...

    [task_id] = observed.bench.enqueue(tick.task())
    async with observed.bench.working():
        await observed.bench.finished(task_id)

    assert observed.span("process tick").parent is None


async def test_batch_tasks_share_a_span_that_links_to_their_traces(observed: Observed) -> None:
    @observed.app.task(batch=2)
    def count(items: list[dict[str, int]]) -> None: ...

    async with AsyncClient(observed.bench.dsn, app=observed.app) as client:
        ids = [(await client.enqueue("count", {"n": n})).id for n in range(2)]
    async with observed.bench.working():
        await observed.bench.finished(*ids)

    process = observed.span("process count")
    first, second = observed.spans("enqueue count")
    assert (parent_of(process), links(process)) == (identity(first), {"own": {identity(second)}})
    assert attributes_of(process)["messaging.batch.message_count"] == 2


def measured(reader: InMemoryMetricReader) -> dict[str, Any]:
    """Return the first data point of each metric."""
    data = reader.get_metrics_data()
    scopes = [scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics]
    metrics = [metric for scope in scopes for metric in scope.metrics]
    return {metric.name: metric.data.data_points[0] for metric in metrics if metric.data.data_points}


def test_events_are_measured_under_their_names() -> None:
    reader = InMemoryMetricReader()
    sink = OpenTelemetry(TracerProvider(), MeterProvider([reader]))
    sink.emit_all(
        [
            Event(type=EventType.JOB_CREATED, at=0.0, task=Facts()),
            Event(type=EventType.JOB_ATTEMPT_STARTED, at=0.0, task=Facts()),
            Event(type=EventType.JOB_ATTEMPT_STARTED, at=0.0, task=Facts(id=8)),
            Event(type=EventType.JOB_ATTEMPT_FAILED, at=0.0, task=Facts(), seconds=2.0, error="OSError: no route"),
            Event(type=EventType.JOB_COMPLETED, at=0.0, task=Facts(), seconds=3.0),
            Event(type=EventType.CHAIN_COMPLETED, at=0.0, task=Facts(), seconds=4.0),
        ]
    )

    points = measured(reader)
    values = {name: getattr(point, "value", getattr(point, "sum", None)) for name, point in points.items()}
    assert values == {
        "rolecall.job.created": 1,
        "rolecall.job.attempt.started": 2,
        "rolecall.job.attempt.failed": 1,
        "rolecall.job.completed": 1,
        "rolecall.chain.completed": 1,
        "rolecall.job.attempt.duration": 2.0,
        "rolecall.job.duration": 3.0,
        "rolecall.chain.duration": 4.0,
        "rolecall.job_type.processing": 1,
        "rolecall.slots.idle": 0,
        "messaging.process.duration": 2.0,
        "messaging.client.sent.messages": 1,
        "messaging.client.consumed.messages": 2,
    }
    assert dict(points["messaging.process.duration"].attributes or {}) == {
        "messaging.system": "rolecall",
        "messaging.operation.name": "process",
        "messaging.destination.name": "send",
        "error.type": "OSError",
    }


async def test_tasks_of_a_worker_are_measured(bench: Bench) -> None:
    reader = InMemoryMetricReader()
    bench.app = App("test", sinks=[OpenTelemetry(TracerProvider(), MeterProvider([reader]))])

    @bench.app.task(role="mail")
    async def send() -> None: ...

    ids = bench.enqueue(send.task(), send.task())
    async with bench.working(slots=3):
        await bench.finished(*ids)
        await until(lambda: getattr(measured(reader).get("rolecall.chain.duration"), "count", 0) == 2)
        points = measured(reader)

    assert points["rolecall.job.attempt.started"].value == 2
    assert points["messaging.process.duration"].count == 2
    assert points["rolecall.slots.idle"].value == 3
    place = {"rolecall.role": "mail", "rolecall.handler": "send"}
    assert [dict(points[f"rolecall.{name}"].attributes) for name in ("job.completed", "job.duration")] == [place] * 2


def test_disabled_measures_create_no_instruments() -> None:
    reader = InMemoryMetricReader()
    OpenTelemetry(TracerProvider(), MeterProvider([reader]), measures=False)

    assert measured(reader) == {}
