"""What happens as metrics that Prometheus scrapes: counters and histograms by role and handler, and what is under way.

    App(sinks=[Prometheus()])      rolecall worker --metrics 127.0.0.1:9100      GET /metrics

All is added up here, in plain numbers: the client library comes in when somebody asks, and not with each event. The
names are docs/reference/metrics.md's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Protocol

from rolecall.extras import missing_extra
from rolecall.model.errors import ConfigError
from rolecall.telemetry.events import Event, EventSink, EventType
from rolecall.telemetry.measures import BUCKETS, DURATIONS, TIMED, WITHOUT_TASK, Place, Tally

try:
    from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
except ImportError as error:
    raise missing_extra("metrics") from error

__all__ = [
    "BUCKETS",
    "Collector",
    "GaugeMetricFamily",
    "Metric",
    "Prometheus",
    "collector_of",
    "collectors_of",
    "exposition",
    "serving",
]

BY_HANDLER = ("role", "handler")


class Prometheus(Collector):
    """A sink that is a collector of `prometheus_client`, too: register it wherever you expose your own metrics.

    Its numbers are those of this process, since it started. `buckets` are upper bounds in seconds. An emitter adds to
    its `tally` itself: nothing waits for a thread, and no event is lost to it.
    """

    def __init__(self, buckets: Sequence[float] = BUCKETS) -> None:
        self.tally = Tally(buckets)

    def emit(self, event: Event) -> None:
        """Count one event."""
        self.tally.add((event,))

    def emit_all(self, events: Sequence[Event]) -> None:
        """Count events."""
        self.tally.add(events)

    def collect(self) -> Iterator[Metric]:
        """What Prometheus is told: every metric, those too of which nothing has happened yet."""
        known = self.tally.series()
        yield from _counters(Counter({each: series.number for each, series in known.items()}))
        for what, meaning in DURATIONS.items():
            family = HistogramMetricFamily(f"rolecall_{what}_duration_seconds", meaning, labels=BY_HANDLER)
            timed = [(place, series) for (kind, place), series in known.items() if TIMED.get(kind) == what]
            for place in dict.fromkeys(place for place, _ in timed):
                of_place = [series for where, series in timed if where == place]
                buckets = [sum(column) for column in zip(*(series.buckets for series in of_place), strict=True)]
                family.add_metric(place, self._bounded(buckets), sum(series.seconds for series in of_place))
            yield family
        processing = GaugeMetricFamily("rolecall_job_type_processing", "Attempts that run here now.", labels=BY_HANDLER)
        for place, number in self.tally.processing().items():
            processing.add_metric(place, number)
        yield processing
        idle = GaugeMetricFamily("rolecall_slots_idle", "Slots that wait here for a task.")
        idle.add_metric((), self.tally.idle())
        yield idle

    def describe(self) -> Iterable[Metric]:
        """Nothing: what it is called is known without a look at it."""
        return ()

    def _bounded(self, buckets: Sequence[int]) -> list[tuple[str, float]]:
        bounds = [*map(str, map(float, self.tally.bounds)), "+Inf"]
        return list(zip(bounds, accumulate(buckets), strict=True))


class HasSinks(Protocol):
    """An app."""

    @property
    def sinks(self) -> Sequence[EventSink]: ...

    def add_sink(self, sink: EventSink) -> None: ...


def collectors_of(program: HasSinks) -> list[Prometheus]:
    """Return the program's own sink of this kind, if it has one: two would tell of the same metrics."""
    return [sink for sink in program.sinks if isinstance(sink, Prometheus)][:1]


def collector_of(program: HasSinks) -> Prometheus:
    """Return the program's own sink of this kind; add one where it has none."""
    if own := collectors_of(program):
        return own[0]
    added = Prometheus()
    program.add_sink(added)
    return added


def exposition(collectors: Iterable[Collector], accept: str = "") -> tuple[bytes, str]:
    """Write metrics as a scrape that accepts this wants them, beside those of the program itself; and say as what."""
    encode, content_type = choose_encoder(accept)
    return encode(_registry(collectors)), content_type


@contextmanager
def serving(collectors: Iterable[Collector], host: str, port: int) -> Iterator[int]:
    """Answer scrapes at this address in a thread meanwhile, at this port or, for 0, the one that is told.

    Raises ConfigError where the address cannot be had.
    """
    try:
        server, thread = start_http_server(port, host, _registry(collectors))
    except OSError as error:
        where = f"{host}:{port}"
        raise ConfigError(
            f"{where} cannot be listened at: {error}", variable="ROLECALL_METRICS", value=where
        ) from error
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _counters(counts: Counter[tuple[EventType, Place]]) -> Iterator[Metric]:
    for kind in EventType:
        labels = () if kind in WITHOUT_TASK else BY_HANDLER
        family = CounterMetricFamily(f"rolecall_{kind}", f"Events {kind}, see the events' reference.", labels=labels)
        if not labels:
            family.add_metric((), counts[kind, ("", "")])
        for (counted, place), number in counts.items():
            if counted is kind and labels:
                family.add_metric(place, number)
        yield family


def _registry(collectors: Iterable[Collector]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    own = list(collectors)
    for collector in (*own, _Others(own)):
        registry.register(collector)
    return registry


class _Others(Collector):
    """What the program registered by itself, and the library for each process."""

    def __init__(self, own: Sequence[Collector]) -> None:
        self._own = {family.name for collector in own for family in collector.collect()}

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        # A program may have registered a sink there itself.
        return (family for family in REGISTRY.collect() if family.name not in self._own)
