"""Traces and metrics by OpenTelemetry's API; which SDK takes them, and where they go, is the program's to set up.

    enqueue send (PRODUCER) ──▶ process send (CONSUMER): complete (INTERNAL)
                                     └─▶ enqueue report (PRODUCER) ──▶ process report (CONSUMER)

A task's attempts belong to the trace in which it was asked for, whose W3C context is stored with it. They link to what
the task came from: its origin, its parent, what it needed, its children. The attributes are those of the semantic
conventions for messaging, in which a handler is a destination, a role a consumer group and a task a message.
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
from rolecall.telemetry.measures import ATTEMPT, BUCKETS, DURATIONS, TIMED, WITHOUT_TASK, Place, Tally, place_of
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

__all__ = ["OpenTelemetry", "metric_name"]

SYSTEM = "rolecall"
W3C = TraceContextTextMapPropagator()
TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2}) ?")
NO_CONTEXT = Context()
LONGEST_CONTEXT = 1_000
# Tasks that were asked for together, thousands at times, share one context.
MOST_CONTEXTS = 1_024
SUBJECTS = ("job_attempt", "job_type", "job", "chain", "worker", "notify_adapter", "state_adapter")

# The conventions' own counters: which event each of them counts, of which operation.
MESSAGES = (
    ("messaging.client.sent.messages", EventType.JOB_CREATED, "enqueue"),
    ("messaging.client.consumed.messages", EventType.JOB_ATTEMPT_STARTED, "process"),
)

Attributes = dict[str, str | int | bool]


class OpenTelemetry:
    """A sink that traces: `App(sinks=[OpenTelemetry()])`. Without providers of its own it takes the program's.

    `measures=False` leaves metrics to others: then no events are made for it.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        *,
        measures: bool = True,
    ) -> None:
        self.wanted = frozenset(EventType if measures else ())
        self._tracer = trace.get_tracer(SYSTEM, version(SYSTEM), tracer_provider)
        self._measures = _Measures(metrics.get_meter(SYSTEM, version(SYSTEM), meter_provider)) if measures else None

    @property
    def carried(self) -> Sequence[ContextVar[CurrentSpan]]:
        """What brings the span that is current into a handler's process."""
        return (current_span,)

    def emit(self, event: Event) -> None:
        """Measure what one event says."""
        self.emit_all((event,))

    def emit_all(self, events: Sequence[Event]) -> None:
        """Measure what events say."""
        if self._measures is not None:
            self._measures.note(events)

    @contextmanager
    def enqueuing(self, batch: Sequence[NewTask]) -> Iterator[Asked]:
        """A PRODUCER span around an enqueue; one for a whole batch, whose context each of its tasks gets."""
        with self._producer(batch) as span:
            yield Asked(span, len(batch))

    def attempt(self, at_work: AtWork, traces: Traces) -> Attempted:
        """A CONSUMER span around an attempt, current for all that its handler does."""
        return Attempted(self._tracer, at_work, _own(traces))

    def following(self, next_tasks: NextTasks) -> None:
        """A PRODUCER span for what an attempt asks for, and one for its continuation, which goes on with the chain's
        trace and links to this attempt.
        """
        asked = [*next_tasks.follow_ups, *next_tasks.children, *next_tasks.siblings]
        if asked:
            with self._producer(asked) as span:
                next_tasks.trace_context = _written(span)
        if next_tasks.continuation is not None:
            here = trace.get_current_span().get_span_context()
            attempt = current_span.get(None)
            chain = None if attempt is None else attempt.chain
            with self._producer([next_tasks.continuation], chain, [Link(here, _related("origin"))]) as span:
                next_tasks.continuation = replace(next_tasks.continuation, trace_context=_written(span))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """An INTERNAL span around a step of an attempt."""
        with self._tracer.start_as_current_span(name, kind=SpanKind.INTERNAL):
            yield

    @contextmanager
    def _producer(
        self, batch: Sequence[NewTask], parent: Context | None = None, links: Sequence[Link] = ()
    ) -> Iterator[Span]:
        # A task that says a role alone has the handler of that name.
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


class Asked:
    """The span of an enqueue."""

    def __init__(self, span: Span, number: int) -> None:
        self._span = span
        self._number = number
        self.trace_context = _written(span)

    def stored(self, answers: Sequence[Enqueued]) -> None:
        """Note which task it is; that it stood already is no error."""
        if self._number == 1:
            self._span.set_attribute("messaging.message.id", str(answers[0].id))
        self._span.set_attribute("rolecall.deduplicated", sum(answer.deduplicated for answer in answers))


class Attempted:
    """The span of an attempt at one task, or at those of a batch; it is the child of the first one's own context.

    A slot has one for each task: so this does what `start_as_current_span` would, in a third of the time. Of a span
    that is not sampled only the context is needed, for what the handler does and asks for.
    """

    __slots__ = ("_carried", "_number", "_own", "_span", "_token", "records")

    def __init__(self, tracer: trace.Tracer, at_work: AtWork, own: str | None) -> None:
        handler = at_work.task.handler or ""
        parent = NO_CONTEXT if own is None else _read(own)
        self._own = None if own is None else parent
        self._span = tracer.start_span(
            f"process {handler}", context=parent, kind=SpanKind.CONSUMER, attributes=_facts(at_work, handler)
        )
        self._number = 0
        self.records = self._span.is_recording()

    def __enter__(self) -> Self:
        self._token = otel.attach(trace.set_span_in_context(self._span))
        self._carried = current_span.set(CurrentSpan(chain=self._own))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        current_span.reset(self._carried)
        otel.detach(self._token)
        if self.records:
            if error is not None:
                self._span.set_status(StatusCode.ERROR, type(error).__name__)
            self._span.end()

    def ended(self, traces: Traces, *, outcome: str, error: str | None) -> None:
        """Note what a task came from, and what became of it."""
        span = self._span
        self._number += 1
        for relation, context in traces:
            if relation != "own" or self._number > 1:
                span.add_link(trace.get_current_span(_read(context)).get_span_context(), _related(relation))
        span.set_attribute("rolecall.outcome", outcome)
        if self._number > 1:
            span.set_attribute("messaging.batch.message_count", self._number)
        if error is not None:
            span.set_attribute("error.type", _error_type(error))
            span.set_status(StatusCode.ERROR, error.partition("\n")[0])


class CurrentSpan:
    """The span that is current where this is pickled; it is current where it arrives, too.

    `chain` is the context in which the task of an attempt was asked for, where its chain goes on; it stays here.
    """

    __slots__ = ("_context", "chain")

    def __init__(self, context: str | None = None, chain: Context | None = None) -> None:
        self._context = context
        self.chain = chain

    def __reduce__(self) -> tuple[type[CurrentSpan], tuple[str | None]]:
        return CurrentSpan, (_written(trace.get_current_span()),)

    def arrive(self) -> None:
        """Let all that is done in this context belong to that span."""
        if self._context is not None:
            otel.attach(_read(self._context))


current_span: ContextVar[CurrentSpan] = ContextVar("rolecall_current_span")


class _Measures:
    """The instruments: what happens is counted here, and told when somebody collects; durations are recorded."""

    def __init__(self, meter: metrics.Meter) -> None:
        self._tally = Tally()
        for kind in EventType:
            meter.create_observable_counter(metric_name(kind), [partial(self._counted, kind)], "{event}")
        for name, kind, operation in MESSAGES:
            meter.create_observable_counter(name, [partial(self._messages, kind, operation)], "{message}")
        meter.create_observable_up_down_counter(
            "rolecall.job_type.processing", [self._processing], "{attempt}", "Attempts that run here now."
        )
        meter.create_observable_up_down_counter(
            "rolecall.slots.idle", [self._idle], "{slot}", "Slots that wait here for a task."
        )
        self._durations = {
            what: _histogram(meter, f"rolecall.{what.replace('_', '.')}.duration", meaning)
            for what, meaning in DURATIONS.items()
        }
        self._process = _histogram(meter, "messaging.process.duration", "Duration of processing operation.")

    def note(self, events: Sequence[Event]) -> None:
        self._tally.add(events)
        for event in events:
            if event.seconds is not None and (timed := TIMED.get(event.type)):
                self._time(event, event.seconds, timed)

    def _time(self, event: Event, seconds: float, timed: str) -> None:
        place = place_of(event)
        self._durations[timed].record(seconds, _labels(place))
        if timed == ATTEMPT:
            attributes = _attributes("process", None, place[1])
            if event.type is EventType.JOB_ATTEMPT_FAILED:
                attributes["error.type"] = _error_type(event.error or "_OTHER")
            self._process.record(seconds, attributes)

    def _counted(self, kind: EventType, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        labels = (lambda _: {}) if kind in WITHOUT_TASK else _labels
        return [metrics.Observation(number, labels(place)) for place, number in self._tally.counts(kind).items()]

    def _messages(
        self, kind: EventType, operation: str, _options: metrics.CallbackOptions
    ) -> Iterable[metrics.Observation]:
        numbers: Counter[str] = Counter()
        for (_, handler), number in self._tally.counts(kind).items():
            numbers[handler] += number
        return [
            metrics.Observation(number, _attributes(operation, None, handler)) for handler, number in numbers.items()
        ]

    def _processing(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [metrics.Observation(number, _labels(place)) for place, number in self._tally.processing().items()]

    def _idle(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [metrics.Observation(self._tally.idle())]


def _histogram(meter: metrics.Meter, name: str, meaning: str) -> metrics.Histogram:
    return meter.create_histogram(name, "s", meaning, explicit_bucket_boundaries_advisory=BUCKETS)


def metric_name(kind: EventType) -> str:
    """The name of the counter of a type of event: `job_attempt_started` is `rolecall.job.attempt.started`."""
    subject = next(each for each in SUBJECTS if kind.startswith(f"{each}_"))
    dotted = "job.attempt" if subject == "job_attempt" else subject
    return f"rolecall.{dotted}.{kind.removeprefix(subject)[1:]}"


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


def _related(relation: str) -> Attributes:
    return {"rolecall.relation": relation}


def _written(span: Span) -> str | None:
    """The W3C context of a span as a task keeps it: traceparent, a space, tracestate; None where nobody traces."""
    carrier: dict[str, str] = {}
    W3C.inject(carrier, trace.set_span_in_context(span, NO_CONTEXT))
    parts = [carrier[name] for name in ("traceparent", "tracestate") if carrier.get(name)]
    text = " ".join(parts)
    return (text if len(text) <= LONGEST_CONTEXT else parts[0]) if parts else None


def _own(traces: Traces) -> str | None:
    for relation, context in traces:
        if relation == "own":
            return context
    return None


@lru_cache(MOST_CONTEXTS)
def _read(text: str) -> Context:
    """The context that a task keeps, as one to begin a span in; none where the text is no W3C context."""
    found = TRACEPARENT.match(text)
    if found is None:
        return NO_CONTEXT
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    state = TraceState.from_header([text[found.end() :]]) if len(text) > found.end() else None
    span = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags), trace_state=state)
    return trace.set_span_in_context(NonRecordingSpan(span), NO_CONTEXT)
