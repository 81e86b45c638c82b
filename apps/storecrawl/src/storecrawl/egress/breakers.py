"""Circuit breakers: a host that keeps failing gets no requests for a while, and then one as a test."""

from __future__ import annotations

import time
from dataclasses import dataclass

from storecrawl.egress.errors import CircuitOpen


@dataclass(slots=True)
class Circuit:
    """The state of one host: failures in a row, and the time until which no request is sent."""

    failures: int = 0
    open_until: float | None = None


class Breakers:
    """The circuits of all hosts, each opened by `failures` in a row for `seconds`."""

    def __init__(self, *, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._circuits: dict[str, Circuit] = {}

    def admit(self, host: str) -> None:
        """Let a request pass, or raise CircuitOpen.

        After the pause, one request tests the host. The others wait for its outcome, or for another pause.
        """
        circuit = self._circuits.get(host)
        if circuit is None or circuit.open_until is None:
            return
        seconds_left = circuit.open_until - time.monotonic()
        if seconds_left > 0:
            raise CircuitOpen(host, circuit.failures, seconds_left)
        circuit.open_until = time.monotonic() + self._seconds

    def record_response(self, host: str) -> None:
        """Record that the host responded, with whatever status."""
        self._circuits.pop(host, None)

    def record_failure(self, host: str) -> None:
        """Record that the host did not respond, or with an error of its own."""
        circuit = self._circuits.setdefault(host, Circuit())
        circuit.failures += 1
        if circuit.failures >= self._failures:
            circuit.open_until = time.monotonic() + self._seconds
