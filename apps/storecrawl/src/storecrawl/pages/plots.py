"""The data of plots: times in seconds since 1970, and a list of values for each line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from storecrawl.catalog import StoredPayload
from storecrawl.catalog.product_history import CapturedOption, CapturedProduct

TONES: Final = ("accent", "good", "warn", "info", "bad", "muted")
CENTS: Final = 100
WHOLE: Final = 1_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Times and lines in the form of ui.line_chart."""

    x: list[float]
    series: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A period of one availability; `left` and `width` are its place in a strip of length 1,000."""

    availability: str
    begin: datetime
    end: datetime
    payload_id: int
    left: float
    width: float


def size_plot(payloads: Sequence[StoredPayload]) -> Plot:
    """Return the sizes of a store's payloads over time, in bytes; the payloads are newest first."""
    oldest_first = payloads[::-1]
    return Plot(
        x=[payload.fetched_at.timestamp() for payload in oldest_first],
        series=[
            _line("document", "accent", [payload.size_raw for payload in oldest_first], kind="area"),
            _line("compressed", "good", [payload.size_gz for payload in oldest_first]),
        ],
    )


def price_plot(history: Sequence[CapturedProduct]) -> Plot:
    """Return the price of each option over time, including specials, with gaps where it is missing."""
    return _option_plot(history, lambda option: None if option.cents is None else option.cents / CENTS)


def quantity_plot(history: Sequence[CapturedProduct]) -> Plot:
    """Return the quantity of each option over time."""
    return _option_plot(history, lambda option: option.quantity)


def availability_spans(history: Sequence[CapturedProduct]) -> list[Span]:
    """Return the periods of a product's availability, each until the next payload with a different one."""
    if not history:
        return []
    begin, end = history[0].captured_at, history[-1].captured_at
    whole = max((end - begin).total_seconds(), 1.0)
    changes = [
        snapshot
        for before, snapshot in zip([None, *history], history, strict=False)
        if before is None or before.availability != snapshot.availability
    ]
    ends = [*(change.captured_at for change in changes[1:]), end]
    return [
        Span(
            availability=change.availability,
            begin=change.captured_at,
            end=until,
            payload_id=change.payload_id,
            left=WHOLE * (change.captured_at - begin).total_seconds() / whole,
            width=WHOLE * (until - change.captured_at).total_seconds() / whole,
        )
        for change, until in zip(changes, ends, strict=True)
    ]


def _option_plot(history: Sequence[CapturedProduct], figure: Callable[[CapturedOption], float | None]) -> Plot:
    names = list(dict.fromkeys(option.option for snapshot in reversed(history) for option in snapshot.options))
    return Plot(
        x=[snapshot.captured_at.timestamp() for snapshot in history],
        series=[
            _line(name, tone, [_figure_of(snapshot, name, figure) for snapshot in history])
            for name, tone in zip(names, TONES, strict=False)
        ],
    )


def _figure_of(snapshot: CapturedProduct, name: str, figure: Callable[[CapturedOption], float | None]) -> float | None:
    return next((figure(option) for option in snapshot.options if option.option == name), None)


def _line(label: str, tone: str, values: Sequence[float | None], kind: str = "line") -> dict[str, Any]:
    return {"label": label, "tone": tone, "kind": kind, "values": list(values)}
