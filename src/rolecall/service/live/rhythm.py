"""When the next look is due: soon after something happened, later while nothing does, much later if it cost much."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.service.cost import Cost

__all__ = ["Rhythm", "RhythmOptions"]

GROWTH = 1.5
LONGEST = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RhythmOptions:
    """Seconds between two looks, at least and, while nothing happens, at most; and the share of time spent looking."""

    least: float
    most: float
    share: float = 0.02


class Rhythm:
    """The pause after each look, and the part of it that nothing may shorten: longer than twenty seconds is neither."""

    def __init__(self, options: RhythmOptions) -> None:
        self._options = options
        self._delay = options.least
        self._cost = Cost()
        self.floor = options.least

    def looked(self, took: float, *, stirred: bool) -> float:
        """Return how long to pause after a look of `took` seconds, that found something or nothing."""
        options = self._options
        self._delay = options.least if stirred else min(options.most, self._delay * GROWTH)
        self.floor = max(options.least, min(LONGEST, self._cost.after(took) / options.share))
        return max(self._delay, self.floor)
