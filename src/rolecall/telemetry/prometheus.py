"""Prometheus metrics: counters and histograms by role and handler, and what is currently running.

    App(sinks=[Prometheus()])      rolecall worker --metrics 127.0.0.1:9100      GET /metrics

Events are counted in plain numbers. The client library is used only by scrapes, not for each event. The names are
listed in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from rolecall.extras import missing_extra
from rolecall.telemetry.events import Event, EventSink, EventType
from rolecall.telemetry.groups import Place
from rolecall.telemetry.measures import BUCKETS, DURATIONS, TIMED, WITHOUT_TASK, Tally

try:
    from prometheus_client import REGISTRY, CollectorRegistry
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
]

BY_HANDLER = ("role", "handler")


class Prometheus(Collector):
    """A sink that is also a collector of `prometheus_client`. Register it where you expose your own metrics.

    It counts the events of this process since its start. `buckets` are upper bounds in seconds. Emitters add to its
    `tally` directly, so that no event waits for a thread or is lost.
    """

    def __init__(self, buckets: Sequence[float] = BUCKETS) -> None:
        self.tally = Tally(buckets)

    def emit(self, event: Event) -> None:
        self.tally.add((event,))

    def emit_all(self, events: Sequence[Event]) -> None:
        self.tally.add(events)

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, including those without values."""
        known = self.tally.series()
        yield from _counters(Counter({each: series.number for each, series in known.items()}))
        for what, meaning in DURATIONS.items():
            family = HistogramMetricFamily(f"rolecall_{what}_duration_seconds", meaning, labels=BY_HANDLER)
            timed = [(place, series) for (kind, place), series in known.items() if TIMED.get(kind) == what]
            for place in dict.fromkeys(place for place, _ in timed):
                of_place = [series for where, series in timed if where == place]
                buckets = [sum(column) for column in zip(*(series.buckets for series in of_place), strict=True)]
                family.add_metric(place, self._pair_with_bounds(buckets), sum(series.seconds for series in of_place))
            yield family
        processing = GaugeMetricFamily(
            "rolecall_job_type_processing", "Attempts running in this process.", labels=BY_HANDLER
        )
        for place, number in self.tally.count_running().items():
            processing.add_metric(place, number)
        yield processing
        idle = GaugeMetricFamily("rolecall_slots_idle", "Free slots in this process.")
        idle.add_metric((), self.tally.idle())
        yield idle

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because the names are fixed."""
        return ()

    def _pair_with_bounds(self, buckets: Sequence[int]) -> list[tuple[str, float]]:
        bounds = [*map(str, map(float, self.tally.bounds)), "+Inf"]
        return list(zip(bounds, accumulate(buckets), strict=True))


class HasSinks(Protocol):
    """An app."""

    @property
    def sinks(self) -> Sequence[EventSink]: ...

    def add_sink(self, sink: EventSink) -> None: ...


def collectors_of(program: HasSinks) -> list[Prometheus]:
    """Return the app's own Prometheus sink, if any. A second one would produce the same metrics again."""
    return [sink for sink in program.sinks if isinstance(sink, Prometheus)][:1]


def collector_of(program: HasSinks) -> Prometheus:
    """Return the app's own Prometheus sink, or add one."""
    if own := collectors_of(program):
        return own[0]
    added = Prometheus()
    program.add_sink(added)
    return added


def exposition(collectors: Iterable[Collector], accept: str = "") -> tuple[bytes, str]:
    """Format metrics and those of the program for an Accept header. Return the body and its content type."""
    encode, content_type = choose_encoder(accept)
    return encode(_registry(collectors)), content_type


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
    """The metrics registered by the program and by the client library."""

    def __init__(self, own: Sequence[Collector]) -> None:
        self._own = {family.name for collector in own for family in collector.collect()}

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        # The program may have registered our sink as well.
        return (family for family in REGISTRY.collect() if family.name not in self._own)
