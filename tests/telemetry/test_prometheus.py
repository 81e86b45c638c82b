"""Events are added up as Prometheus wants them, under the names that the reference has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from rolecall import App
from rolecall.model.operator.doctor import DutyState
from rolecall.model.operator.overview import RoleGauges
from rolecall.telemetry import Event, EventType, WorkerFacts
from rolecall.telemetry.pool_metrics import PoolMetrics
from rolecall.telemetry.prometheus import Prometheus, collector_of, exposition

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Facts:
    id: int = 7
    role: str = "mail"
    handler: str = "send"
    attempt: int = 1
    key: str | None = None
    chain_id: int = 7
    parent_id: int | None = None


def event(kind: EventType, seconds: float | None = None, task: Facts | None = None) -> Event:
    return Event(type=kind, at=0.0, task=task or Facts(), seconds=seconds)


def sample(sink: Prometheus, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(sink)
    return registry.get_sample_value(name, labels)


def test_events_are_counted_by_role_and_handler() -> None:
    sink = Prometheus()
    sink.emit_all([event(EventType.JOB_CREATED)] * 3 + [event(EventType.JOB_CREATED, task=Facts(handler="draft"))])

    assert sample(sink, "rolecall_job_created_total", role="mail", handler="send") == 3
    assert sample(sink, "rolecall_job_created_total", role="mail", handler="draft") == 1


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (EventType.JOB_ATTEMPT_COMPLETED, "rolecall_job_attempt_duration_seconds"),
        (EventType.JOB_COMPLETED, "rolecall_job_duration_seconds"),
        (EventType.CHAIN_COMPLETED, "rolecall_chain_duration_seconds"),
    ],
)
def test_durations_are_counted_in_buckets(kind: EventType, name: str) -> None:
    sink = Prometheus(buckets=(0.1, 1, 10))
    sink.emit_all([event(kind, seconds) for seconds in (0.05, 0.1, 5.0, 99.0)])

    of = {"role": "mail", "handler": "send"}
    bounds = ("0.1", "1.0", "10.0", "+Inf")
    assert [sample(sink, f"{name}_bucket", le=bound, **of) for bound in bounds] == [2, 2, 3, 4]
    assert sample(sink, f"{name}_count", **of) == 4
    assert sample(sink, f"{name}_sum", **of) == pytest.approx(104.15)


def test_slots_are_counted_as_idle_or_processing() -> None:
    sink = Prometheus()
    worker = WorkerFacts(1, "w")
    sink.emit(Event(type=EventType.WORKER_STARTED, at=0.0, worker=worker, data={"slots": 3}))
    sink.emit_all([event(EventType.JOB_ATTEMPT_STARTED, task=Facts(id=number)) for number in (1, 2)])
    sink.emit(event(EventType.JOB_ATTEMPT_FAILED, task=Facts(id=1)))

    assert sample(sink, "rolecall_job_type_processing", role="mail", handler="send") == 1
    assert sample(sink, "rolecall_slots_idle") == 2
    sink.emit(Event(type=EventType.WORKER_STOPPED, at=0.0, worker=worker))
    assert sample(sink, "rolecall_slots_idle") == 0


def test_reference_contains_exactly_the_existing_metrics() -> None:
    pool = PoolMetrics([RoleGauges("mail", 1, 0, 0, 0, 0, 0, None)], NOW)
    families = [family for collector in (Prometheus(), pool) for family in collector.collect()]
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}

    assert names == set(re.findall(r"^\| `(rolecall_\w+)`", REFERENCE.read_text(), re.MULTILINE))


def test_wait_of_the_oldest_ready_task_is_reported_in_seconds() -> None:
    waiting = RoleGauges("mail", 1, 2, 3, 4, 5, 6, datetime(2025, 12, 31, 23, 59, tzinfo=UTC))
    registry = CollectorRegistry()
    registry.register(PoolMetrics([waiting], NOW))

    assert registry.get_sample_value("rolecall_pool_oldest_ready_seconds", {"role": "mail"}) == 60
    assert registry.get_sample_value("rolecall_pool_open_jobs", {"role": "mail", "status": "blocked"}) == 4
    assert registry.get_sample_value("rolecall_pool_stuck_jobs", {"role": "mail"}) == 6


def test_failing_duty_shows_its_duration_and_last_success() -> None:
    succeeded_at = datetime(2025, 12, 31, 23, 58, tzinfo=UTC)
    failing = DutyState("housekeeping", 60.0, 0.0, 45.0, succeeded_at, "no room left")
    running = DutyState("rescue", 5.0, 0.0, 2.0, None, None)
    registry = CollectorRegistry()
    registry.register(PoolMetrics([], NOW, [failing, running]))

    def value(name: str, duty: str) -> float | None:
        return registry.get_sample_value(f"rolecall_pool_duty_{name}", {"duty": duty})

    assert (value("failing_seconds", "housekeeping"), value("success_age_seconds", "housekeeping")) == (45, 120)
    assert (value("failing_seconds", "rescue"), value("success_age_seconds", "rescue")) == (0, None)


def test_own_metrics_of_a_program_are_exported_too() -> None:
    body, content_type = exposition([Prometheus()])

    names = {family.name for family in text_string_to_metric_families(body.decode())}
    assert {"rolecall_job_created", "process_cpu_seconds"} <= names
    assert content_type.startswith("text/plain")


def test_app_has_one_sink_of_this_kind() -> None:
    app = App("shop")
    added = collector_of(app)

    assert collector_of(app) is added
    assert list(app.sinks) == [added]
