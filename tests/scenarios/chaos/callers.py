"""A process that enqueues over HTTP while the API may be killed, and records the answers.

`python -m tests.scenarios.chaos.callers FOLDER ACKED SEED`, until SIGTERM.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

import httpx2

from rolecall.config import LogFormat, LogSettings
from rolecall.telemetry.logs import set_up_logging
from tests.scenarios.chaos import lifeline, stacks
from tests.scenarios.chaos.stop import StopSignal

API = "api"
MOST_OPEN = 200
PAUSE = 0.02
TRY_AGAIN_AFTER = 0.1
PATIENCE = 20.0
# How often a caller disconnects before the answer arrives, and after how many seconds.
HURRIED, HURRY = 0.2, 0.05
LARGEST_BATCH = 6
EVER = {"scope": "any", "window": 86_400}
ENDED = ("completed", "failed", "cancelled")
# The last recorded one may still be under way.
ASKING = "asking"
NO_DATABASE, UNDER_WAY = 503, 409
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class NoAnswer(Exception):
    """The request may or may not have been carried out."""


@dataclass(slots=True)
class Caller:
    """Enqueues over HTTP. Each request must take effect once and as a whole, or not at all.

    The names in the payloads allow the checker to verify this.
    """

    name: str
    folder: Path
    log: TextIO
    chance: random.Random
    stopped: Callable[[float], bool]
    numbers: count[int] = field(default_factory=lambda: count(1))

    def run(self) -> None:
        """Send requests in one of three ways until stopped."""
        while not self.stopped(PAUSE):
            try:
                if self._open() < MOST_OPEN:
                    self.chance.choice((self._by_request_key, self._by_dedupe_key, self._once))()
            except NoAnswer:
                self.stopped(TRY_AGAIN_AFTER)

    def _by_request_key(self) -> None:
        """Repeat the request with its request key until it is answered. It must be carried out once."""
        name = self._name()
        self._retry(self._bodies(name), {"Idempotency-Key": name})

    def _by_dedupe_key(self) -> None:
        """Repeat the request until it is answered. Its tasks may already exist or have finished."""
        name = self._name()
        bodies = self._bodies(name)
        self._retry([body | {"dedupe_key": f"{name}:{n}", "dedupe": EVER} for n, body in enumerate(bodies)])

    def _once(self) -> None:
        """Send the request once, whether or not it is answered."""
        self._post(self._bodies(self._name()))

    def _retry(self, bodies: list[dict[str, Any]], headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Repeat the request until it is answered, and sometimes once more, as a caller that missed the answer would."""
        times = self.chance.randint(1, 2)
        while times:
            try:
                self._post(bodies, headers)
                times -= 1
            except NoAnswer:
                if self.stopped(TRY_AGAIN_AFTER):
                    return

    def _post(self, bodies: list[dict[str, Any]], headers: Mapping[str, str] = NO_HEADERS) -> None:
        single = len(bodies) == 1
        path, body = ("", bodies[0]) if single else ("/batch", {"tasks": bodies})
        answer = self._ask("POST", path, json=body, headers=headers)
        stored = [answer] if single else answer
        self._note("acked", *(each["id"] for each in stored))

    def _open(self) -> int:
        return sum(each["number"] for each in self._ask("GET", "/counts") if each["state"] not in ENDED)

    def _ask(self, method: str, path: str, *, headers: Mapping[str, str] = NO_HEADERS, **words: Any) -> Any:
        """Return the answer. Raises NoAnswer, and HTTPStatusError for unexpected answers."""
        url, token = self._door()
        if method == "POST":
            self._note(ASKING)
        shown = {"Authorization": f"Bearer {token}", **headers}
        try:
            answer = httpx2.request(method, f"{url}/api/tasks{path}", headers=shown, timeout=self._patience(), **words)
        except (httpx2.TimeoutException, httpx2.ConnectError) as error:
            self._note("unanswered")
            raise NoAnswer from error
        except httpx2.TransportError as error:
            self._note("broken" if method == "POST" else "unanswered")
            raise NoAnswer from error
        if answer.status_code in (NO_DATABASE, UNDER_WAY):
            self._note("unanswered")
            raise NoAnswer
        return answer.raise_for_status().json()

    def _door(self) -> tuple[str, str]:
        """Return the URL and the token of the newest API. Raises NoAnswer until one has started."""
        apis = sorted(self.folder.glob(f"{API}-*.stacks"), key=lambda file: file.stat().st_mtime_ns)
        try:
            result = json.loads(apis[-1].read_text())
            return result["http"], Path(result["token_file"]).read_text(encoding="ascii").strip()
        except (IndexError, ValueError) as error:
            raise NoAnswer from error

    def _patience(self) -> float:
        return self.chance.uniform(0, HURRY) if self.chance.random() < HURRIED else PATIENCE

    def _bodies(self, name: str) -> list[dict[str, Any]]:
        of = self.chance.choice([1, self.chance.randint(2, LARGEST_BATCH)])
        return [{"handler": "asked", "payload": {"name": name, "of": of}} for _ in range(of)]

    def _name(self) -> str:
        return f"{self.name}:{next(self.numbers)}"

    def _note(self, what: str, *facts: object) -> None:
        print(what, *facts, file=self.log, flush=True)


def main(folder: Path, acked: Path, seed: int) -> None:
    stop = StopSignal()
    with acked.open("a") as log:
        Caller(acked.stem, folder, log, random.Random(seed), stop.comes_within).run()


if __name__ == "__main__":
    lifeline.hold()
    stacks.tell_threads()
    set_up_logging(LogSettings(format=LogFormat.json))
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
