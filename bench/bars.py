"""The bars: targets for Rolecall's figures, relative to peers and ceilings of the same run, with verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bench import ceilings
from bench.record import Record

OURS, CEILING = "rolecall", "ceiling"
MANY = f"{OURS}-concurrent"
Figure = Literal["rate", "worker_us", "server_us", "wal", "p50", "p99"]
UNITS = {"worker_us": "us", "server_us": "us", "wal": "bytes", "p50": "ms", "p99": "ms", "rate": "tasks/s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A figure of Rolecall with its bound: a value, or a multiple of the same figure of `against` (a peer and work)."""

    title: str
    work: str
    bound: Literal["at least", "at most"]
    value: float
    against: tuple[str, str] | None = None
    figure: Figure = "rate"
    peer: str = OURS


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a bar: the median of the value or ratio, and its range over the repeats."""

    bar: Bar
    value: float
    least: float
    most: float

    @property
    def met(self) -> bool:
        """Whether the median meets the bar."""
        return self.value >= self.bar.value if self.bar.bound == "at least" else self.value <= self.bar.value

    @property
    def reached(self) -> str:
        """The median with its range, as text."""
        unit = "x" if self.bar.against else UNITS[self.bar.figure]
        form = "{:.2f}" if self.bar.against or self.value < 10 else "{:,.0f}"  # noqa: PLR2004 - ms have decimals
        spread = "" if self.least == self.most else f" ({form.format(self.least)}-{form.format(self.most)})"
        return f"{form.format(self.value)} {unit}{spread}"

    @property
    def asked(self) -> str:
        """The bound, as text."""
        return f"{self.bar.bound} {self.bar.value:,g}"


BARS = (
    Bar(title="bulk enqueue relative to awa", work="W1", bound="at least", value=1.1, against=("awa", "W1")),
    Bar(
        title="single enqueue relative to PGQueuer",
        work="W1s",
        bound="at least",
        value=1.5,
        against=("pgqueuer", "W1s"),
    ),
    Bar(
        title="single enqueue relative to a bare insert",
        work="W1s",
        bound="at least",
        value=0.6,
        against=(CEILING, ceilings.SINGLE),
    ),
    Bar(title="single enqueue, server CPU", work="W1s", bound="at most", value=150, figure="server_us"),
    Bar(
        title="16 concurrent enqueuers relative to 16 with bare inserts",
        work="W1s",
        bound="at least",
        value=0.8,
        against=(CEILING, ceilings.SINGLE_MANY),
        peer=MANY,
    ),
    *(
        Bar(
            title=f"single enqueue {how}, server CPU relative to the plain one",
            work="W1s",
            bound="at most",
            value=1.5,
            against=(OURS, "W1s"),
            figure="server_us",
            peer=f"{OURS}-{variant}",
        )
        for variant, how in (
            ("key", "with a key"),
            ("dedupe", "with a dedupe key"),
            ("scheduled", "for later"),
            ("transaction", "in the caller's transaction"),
            ("async", "by the async client"),
        )
    ),
    Bar(title="drain relative to pg-boss", work="W2", bound="at least", value=1.6, against=("pg-boss", "W2")),
    Bar(
        title="drain relative to a bare claim and move",
        work="W2",
        bound="at least",
        value=0.8,
        against=(CEILING, ceilings.MOVE.format(ceilings.STEP)),
    ),
    Bar(title="drain, server CPU per task", work="W2", bound="at most", value=22, figure="server_us"),
    Bar(title="drain, worker CPU per task", work="W2", bound="at most", value=14, figure="worker_us"),
    Bar(
        title="batch handlers relative to pg-boss",
        work="W2",
        bound="at least",
        value=2,
        against=("pg-boss", "W2"),
        peer=f"{OURS}-batch",
    ),
    *(
        Bar(
            title=f"drain of {what} relative to a plain one",
            work="W2",
            bound="at least",
            value=0.5,
            against=(OURS, "W2"),
            peer=f"{OURS}-{variant}",
        )
        for variant, what in (
            ("keys", "tasks that share 100 keys"),
            ("declared-keys", "tasks whose handler declares 100 keys"),
            ("roles", "500 roles"),
        )
    ),
    Bar(
        title="drain by two processes relative to pg-boss",
        work="W3",
        bound="at least",
        value=1.15,
        against=("pg-boss", "W3"),
    ),
    *(
        Bar(
            title=f"idle latency, {figure} relative to Graphile Worker",
            work="W4",
            bound="at most",
            value=1,
            against=("graphile-worker", "W4"),
            figure=figure,
        )
        for figure in ("p50", "p99")
    ),
    Bar(
        title="drain under a held snapshot relative to W2",
        work="W5",
        bound="at least",
        value=0.95,
        against=(OURS, "W2"),
    ),
    Bar(title="children relative to plain tasks", work="W6", bound="at least", value=0.5, against=(OURS, "W2")),
)


def verdicts(records: Iterable[Record]) -> list[Verdict]:
    """Evaluate every bar with enough measurements."""
    known = [record for record in records if record.problem is None]
    return [verdict for bar in BARS if (verdict := _verdict(bar, known))] + _wal(known)


def _verdict(bar: Bar, records: Iterable[Record]) -> Verdict | None:
    ours = values(records, bar.peer, bar.work, bar.figure)
    if not ours:
        return None
    if bar.against is None:
        return Verdict(bar, median(ours), min(ours), max(ours))
    theirs = values(records, *bar.against, bar.figure)
    if not theirs:
        return None
    # Figures of one repeat were measured close together.
    pairs = [mine / other for mine, other in zip(ours, theirs, strict=False) if other]
    return Verdict(bar, median(ours) / median(theirs), min(pairs), max(pairs)) if pairs else None


def _wal(records: Iterable[Record]) -> list[Verdict]:
    bar = Bar(title="WAL per task, enqueue to finish", work="W2", bound="at most", value=1_000, figure="wal")
    stored, run = (values(records, OURS, work, "wal") for work in ("W1", "W2"))
    sums = [sum(pair) for pair in zip(stored, run, strict=False)]
    return [Verdict(bar, median(sums), min(sums), max(sums))] if sums else []


def values(records: Iterable[Record], peer: str, work: str, figure: str) -> list[float]:
    """Return one figure of a peer's work for every repeat that has it."""
    found = [getattr(record, figure) for record in records if (record.peer, record.work) == (peer, work)]
    return [value for value in found if value is not None]
