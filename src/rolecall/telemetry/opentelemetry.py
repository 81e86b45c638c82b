"""Traces and metrics with OpenTelemetry's API. The program configures the SDK and the exporters.

    enqueue send (PRODUCER) ──▶ process send (CONSUMER): complete (INTERNAL)
                                     └─▶ enqueue report (PRODUCER) ──▶ process report (CONSUMER)

A task's attempts belong to the trace of its enqueue, whose W3C context is stored with it. They link to the task's
origin, parent, needs and children. Attributes follow the semantic conventions for messaging: a handler is a
destination, a role a consumer group and a task a message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Self

from rolecall.extras import missing_extra
from rolecall.model.tasks import Enqueued, NewTask, NextTasks
from rolecall.telemetry.context import AtWork
from rolecall.telemetry.events import Event, EventType
from rolecall.telemetry.groups import Place
from rolecall.telemetry.measures import ATTEMPT, BUCKETS, DURATIONS, TIMED, WITHOUT_TASK, Tally, place_of
from rolecall.telemetry.tracing import Traces

try:
    from opentelemetry import context as otel
    from opentelemetry import metrics, trace
    from opentelemetry.context import Context
    from opentelemetry.trace import (
        Link,
        NonRecordingSpan,
        Span,
        SpanContext,
        SpanKind,
        StatusCode,
        TraceFlags,
        TraceState,
    )
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise missing_extra("otel") from error

SYSTEM = "rolecall"
W3C = TraceContextTextMapPropagator()
TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2}) ?")
NO_CONTEXT = Context()
LONGEST_CONTEXT = 1_000
# Tasks of one enqueue, sometimes thousands, share a context.
MOST_CONTEXTS = 1_024
SUBJECTS = ("job_attempt", "job_type", "job", "chain", "worker", "notify_adapter", "state_adapter")

# The counters of the conventions: the event and the operation of each.
MESSAGES = (
    ("messaging.client.sent.messages", EventType.JOB_CREATED, "enqueue"),
    ("messaging.client.consumed.messages", EventType.JOB_ATTEMPT_STARTED, "process"),
)

Attributes = dict[str, str | int | bool]


class OpenTelemetry:
    """A sink that traces: `App(sinks=[OpenTelemetry()])`. By default it uses the program's global providers.

    With `measures=False`, it records no metrics and needs no events.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        *,
        measures: bool = True,
    ) -> None:
        self.event_types = frozenset(EventType if measures else ())
        self._tracer = trace.get_tracer(SYSTEM, version(SYSTEM), tracer_provider)
        self._measures = _Measures(metrics.get_meter(SYSTEM, version(SYSTEM), meter_provider)) if measures else None

    @property
    def carried(self) -> Sequence[ContextVar[CurrentSpan]]:
        """The context variable that carries the current span into a handler's process."""
        return (current_span,)

    def emit(self, event: Event) -> None:
        self.emit_all((event,))

    def emit_all(self, events: Sequence[Event]) -> None:
        if self._measures is not None:
            self._measures.note(events)

    @contextmanager
    def trace_enqueue(self, batch: Sequence[NewTask]) -> Iterator[EnqueueSpan]:
        """Create a PRODUCER span around an enqueue. The tasks of a batch share it."""
        with self._producer(batch) as span:
            yield EnqueueSpan(span, len(batch))

    def attempt(self, at_work: AtWork, traces: Traces) -> AttemptSpan:
        """Create a CONSUMER span around an attempt, which is current for the handler."""
        return AttemptSpan(self._tracer, at_work, _own_context(traces))

    def trace_next(self, next_tasks: NextTasks) -> None:
        """Create PRODUCER spans for the tasks that an attempt requests.

        A continuation has a span of its own, which continues the chain's trace and links to this attempt.
        """
        requested = [*next_tasks.follow_ups, *next_tasks.children, *next_tasks.siblings]
        if requested:
            with self._producer(requested) as span:
                next_tasks.trace_context = _format_context(span)
        if next_tasks.continuation is not None:
            span_context = trace.get_current_span().get_span_context()
            attempt = current_span.get(None)
            chain = None if attempt is None else attempt.chain
            with self._producer(
                [next_tasks.continuation], chain, [Link(span_context, _relation_attributes("origin"))]
            ) as span:
                next_tasks.continuation = replace(next_tasks.continuation, trace_context=_format_context(span))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Create an INTERNAL span around a step of an attempt."""
        with self._tracer.start_as_current_span(name, kind=SpanKind.INTERNAL):
            yield

    @contextmanager
    def _producer(
        self, batch: Sequence[NewTask], parent: Context | None = None, links: Sequence[Link] = ()
    ) -> Iterator[Span]:
        # A task without a handler name uses the handler named like its role.
        handlers = {task.handler or task.role or "" for task in batch}
        handler = handlers.pop() if len(handlers) == 1 else None
        attributes = _attributes("enqueue", "send", handler)
        if len(batch) != 1:
            attributes["messaging.batch.message_count"] = len(batch)
        name = "enqueue" if handler is None else f"enqueue {handler}"
        with self._tracer.start_as_current_span(
            name, context=parent, kind=SpanKind.PRODUCER, attributes=attributes, links=links
        ) as span:
            yield span


class EnqueueSpan:
    """The span of an enqueue."""

    def __init__(self, span: Span, number: int) -> None:
        self._span = span
        self._number = number
        self.trace_context = _format_context(span)

    def note_stored(self, answers: Sequence[Enqueued]) -> None:
        """Record the task's id. An existing task is not an error."""
        if self._number == 1:
            self._span.set_attribute("messaging.message.id", str(answers[0].id))
        self._span.set_attribute("rolecall.deduplicated", sum(answer.deduplicated for answer in answers))


class AttemptSpan:
    """The span of an attempt of one task or of a batch. It is a child of the first task's stored context.

    Every attempt creates one, so this replaces `start_as_current_span`, which takes three times as long. A span that is
    not sampled only provides its context to the handler.
    """

    __slots__ = ("_carried", "_number", "_parent", "_span", "_token", "records")

    def __init__(self, tracer: trace.Tracer, at_work: AtWork, own: str | None) -> None:
        handler = at_work.task.handler or ""
        parent = NO_CONTEXT if own is None else _read(own)
        self._parent = None if own is None else parent
        self._span = tracer.start_span(
            f"process {handler}", context=parent, kind=SpanKind.CONSUMER, attributes=_facts(at_work, handler)
        )
        self._number = 0
        self.records = self._span.is_recording()

    def __enter__(self) -> Self:
        self._token = otel.attach(trace.set_span_in_context(self._span))
        self._carried = current_span.set(CurrentSpan(chain=self._parent))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        current_span.reset(self._carried)
        otel.detach(self._token)
        if self.records:
            if error is not None:
                self._span.set_status(StatusCode.ERROR, type(error).__name__)
            self._span.end()

    def note_end(self, traces: Traces, *, outcome: str, error: str | None) -> None:
        """Record a task's links and its outcome."""
        span = self._span
        self._number += 1
        for relation, context in traces:
            if relation != "own" or self._number > 1:
                span.add_link(trace.get_current_span(_read(context)).get_span_context(), _relation_attributes(relation))
        span.set_attribute("rolecall.outcome", outcome)
        if self._number > 1:
            span.set_attribute("messaging.batch.message_count", self._number)
        if error is not None:
            span.set_attribute("error.type", _error_type(error))
            span.set_status(StatusCode.ERROR, error.partition("\n")[0])


class CurrentSpan:
    """Carries the current span to another process when it is pickled.

    `chain` is the stored context of the attempt's task, for continuations. It is not pickled.
    """

    __slots__ = ("_context", "chain")

    def __init__(self, context: str | None = None, chain: Context | None = None) -> None:
        self._context = context
        self.chain = chain

    def __reduce__(self) -> tuple[type[CurrentSpan], tuple[str | None]]:
        return CurrentSpan, (_format_context(trace.get_current_span()),)

    def arrive(self) -> None:
        """Make the span current in this context."""
        if self._context is not None:
            otel.attach(_read(self._context))


current_span: ContextVar[CurrentSpan] = ContextVar("rolecall_current_span")


class _Measures:
    """The instruments. Counts are observed when metrics are collected, durations are recorded."""

    def __init__(self, meter: metrics.Meter) -> None:
        self._tally = Tally()
        for kind in EventType:
            meter.create_observable_counter(metric_name(kind), [partial(self._observe_events, kind)], "{event}")
        for name, kind, operation in MESSAGES:
            meter.create_observable_counter(name, [partial(self._observe_messages, kind, operation)], "{message}")
        meter.create_observable_up_down_counter(
            "rolecall.job_type.processing", [self._observe_processing], "{attempt}", "Attempts running in this process."
        )
        meter.create_observable_up_down_counter(
            "rolecall.slots.idle", [self._observe_idle], "{slot}", "Free slots in this process."
        )
        self._durations = {
            what: _histogram(meter, f"rolecall.{what.replace('_', '.')}.duration", description)
            for what, description in DURATIONS.items()
        }
        self._process = _histogram(meter, "messaging.process.duration", "Duration of processing operation.")

    def note(self, events: Sequence[Event]) -> None:
        self._tally.add(events)
        for event in events:
            if event.seconds is not None and (unit := TIMED.get(event.type)):
                self._time(event, event.seconds, unit)

    def _time(self, event: Event, seconds: float, unit: str) -> None:
        place = place_of(event)
        self._durations[unit].record(seconds, _labels(place))
        if unit == ATTEMPT:
            attributes = _attributes("process", None, place[1])
            if event.type is EventType.JOB_ATTEMPT_FAILED:
                attributes["error.type"] = _error_type(event.error or "_OTHER")
            self._process.record(seconds, attributes)

    def _observe_events(self, kind: EventType, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        labels = (lambda _: {}) if kind in WITHOUT_TASK else _labels
        return [metrics.Observation(number, labels(place)) for place, number in self._tally.counts(kind).items()]

    def _observe_messages(
        self, kind: EventType, operation: str, _options: metrics.CallbackOptions
    ) -> Iterable[metrics.Observation]:
        numbers: Counter[str] = Counter()
        for (_, handler), number in self._tally.counts(kind).items():
            numbers[handler] += number
        return [
            metrics.Observation(number, _attributes(operation, None, handler)) for handler, number in numbers.items()
        ]

    def _observe_processing(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [metrics.Observation(number, _labels(place)) for place, number in self._tally.count_running().items()]

    def _observe_idle(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [metrics.Observation(self._tally.idle())]


def _histogram(meter: metrics.Meter, name: str, description: str) -> metrics.Histogram:
    return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=BUCKETS)


def metric_name(kind: EventType) -> str:
    """Return the counter's name for an event type: `job_attempt_started` becomes `rolecall.job.attempt.started`."""
    subject = next(each for each in SUBJECTS if kind.startswith(f"{each}_"))
    prefix = "job.attempt" if subject == "job_attempt" else subject
    return f"rolecall.{prefix}.{kind.removeprefix(subject)[1:]}"


def _attributes(name: str, kind: str | None, handler: str | None) -> Attributes:
    attributes: Attributes = {"messaging.system": SYSTEM, "messaging.operation.name": name}
    if kind is not None:
        attributes["messaging.operation.type"] = kind
    if handler is not None:
        attributes["messaging.destination.name"] = handler
    return attributes


def _error_type(error: str) -> str:
    return error.partition("\n")[0].partition(":")[0].partition(" (")[0]


def _labels(place: Place) -> dict[str, str]:
    return {"rolecall.role": place[0], "rolecall.handler": place[1]}


def _facts(at_work: AtWork, handler: str) -> Attributes:
    task = at_work.task
    facts: Attributes = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": handler,
        "messaging.consumer.group.name": task.role or "",
        "messaging.message.id": str(task.id),
        "messaging.message.conversation_id": str(task.chain_id),
        "messaging.client.id": str(at_work.worker_id),
        "rolecall.attempt": task.attempt or 0,
    }
    if task.key is not None:
        facts["rolecall.key"] = task.key
    return facts


def _relation_attributes(relation: str) -> Attributes:
    return {"rolecall.relation": relation}


def _format_context(span: Span) -> str | None:
    """Format a span's W3C context for storage: traceparent, a space, tracestate. None without an active trace."""
    carrier: dict[str, str] = {}
    W3C.inject(carrier, trace.set_span_in_context(span, NO_CONTEXT))
    parts = [carrier[name] for name in ("traceparent", "tracestate") if carrier.get(name)]
    text = " ".join(parts)
    return (text if len(text) <= LONGEST_CONTEXT else parts[0]) if parts else None


def _own_context(traces: Traces) -> str | None:
    for relation, context in traces:
        if relation == "own":
            return context
    return None


@lru_cache(MOST_CONTEXTS)
def _read(text: str) -> Context:
    match = TRACEPARENT.match(text)
    if match is None:
        return NO_CONTEXT
    trace_id, span_id, flags = (int(part, 16) for part in match.groups())
    state = TraceState.from_header([text[match.end() :]]) if len(text) > match.end() else None
    span = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags), trace_state=state)
    return trace.set_span_in_context(NonRecordingSpan(span), NO_CONTEXT)
