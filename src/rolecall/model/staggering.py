"""Spreads things over a time, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TypeVar

__all__ = ["stagger"]

T = TypeVar("T")


def stagger(items: Iterable[T], *, batches: int = 6, over: timedelta, start: datetime) -> Iterator[tuple[T, datetime]]:
    """Pair each item with the moment at which its batch begins, in the items' order.

    The batches are of the same size, give or take one, and begin `over / batches` apart, the first at `start`:
    300 items in 6 batches over a day are 50 every four hours. Raises ValueError for no batch, a negative time or a
    start without a time zone.
    """
    if batches < 1 or over < timedelta() or start.tzinfo is None:
        raise ValueError("staggering needs a batch at least, a time that is not negative, and a start with a time zone")
    everything = list(items)
    return (
        (item, start + over * (number * batches // len(everything)) / batches) for number, item in enumerate(everything)
    )
