"""Deterministic random numbers: a stream that depends only on its key."""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, count
from typing import Generic, TypeVar

T = TypeVar("T")

_WORD = 2.0**32
_WORDS = struct.Struct("<16I")
_ALPHANUMERICS = "23456789ABCDEFGHJKLMNPQRSTWXYZabcdefghijkmnopqrstuvwxyz"


class WeightedValues(Generic[T]):
    """Values with their weights, summed once so that a draw is cheap."""

    __slots__ = ("bounds", "values")

    def __init__(self, weights: dict[T, float]) -> None:
        self.values = tuple(weights)
        self.bounds = tuple(accumulate(weights.values()))

    def at(self, share: float) -> T:
        """Return the value at `share` (0 to 1) of the summed weights."""
        return self.values[bisect_right(self.bounds, share * self.bounds[-1], hi=len(self.values) - 1)]


class Draw:
    """A stream of draws. Streams with the same key are equal in every process and Python version.

    The first `skip` draws are omitted.
    """

    __slots__ = ("share",)

    def __init__(self, *key: int | str, skip: int = 0) -> None:
        self.share = _shares("/".join(map(str, key))).__next__
        for _ in range(skip):
            self.share()

    def chance(self, probability: float) -> bool:
        return self.share() < probability

    def pick(self, values: Sequence[T]) -> T:
        return values[int(self.share() * len(values))]

    def pick_weighted(self, values: WeightedValues[T]) -> T:
        return values.at(self.share())

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self.share() * (high - low + 1))

    def real(self, low: float, high: float) -> float:
        return low + self.share() * (high - low)

    def lognormal(self, median: float, sigma: float) -> float:
        radius = math.sqrt(-2.0 * math.log(1.0 - self.share()))
        return median * math.exp(sigma * radius * math.cos(math.tau * self.share()))

    def object_id(self) -> str:
        share = self.share
        return f"{int(share() * _WORD):08x}{int(share() * _WORD):08x}{int(share() * _WORD):08x}"

    def short_id(self) -> str:
        return "".join(self.pick(_ALPHANUMERICS) for _ in range(17))

    def uuid(self) -> str:
        digits = f"{self.object_id()}{int(self.share() * _WORD):08x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _shares(key: str) -> Iterator[float]:
    # A hash in counter mode starts six times faster than random.Random, and menus start many streams.
    for block in count():
        digest = blake2b(f"{key}#{block}".encode()).digest()
        for word in _WORDS.unpack(digest):
            yield word / _WORD
