"""Circuit breakers: a host at which only failures come is left alone for a while, then tried with a single request."""

from __future__ import annotations

import time
from dataclasses import dataclass

from storecrawl.egress.errors import CircuitOpen


@dataclass(slots=True)
class Circuit:
    """How it went at one host: failures in a row, and until when no request goes there."""

    failures: int = 0
    open_until: float | None = None


class Breakers:
    """The circuits of all hosts, each opened by `failures` in a row for so many seconds."""

    def __init__(self, *, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._circuits: dict[str, Circuit] = {}

    def admit(self, host: str) -> None:
        """Let a request pass, or raise CircuitOpen.

        After the pause one passes to try the host, and the others wait for as long again or until it is answered.
        """
        circuit = self._circuits.get(host)
        if circuit is None or circuit.open_until is None:
            return
        left = circuit.open_until - time.monotonic()
        if left > 0:
            raise CircuitOpen(host, circuit.failures, left)
        circuit.open_until = time.monotonic() + self._seconds

    def answered(self, host: str) -> None:
        """The host is there, whatever it said."""
        self._circuits.pop(host, None)

    def failed(self, host: str) -> None:
        """The host gave no answer, or one that says that it cannot."""
        circuit = self._circuits.setdefault(host, Circuit())
        circuit.failures += 1
        if circuit.failures >= self._failures:
            circuit.open_until = time.monotonic() + self._seconds
