"""One process that enqueues over HTTP, by an API that may be killed, and writes down what was answered.

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
# How often one goes away before the answer comes, and after how many seconds.
HURRIED, HURRY = 0.2, 0.05
LARGEST_BATCH = 6
EVER = {"scope": "any", "window": 86_400}
ENDED = ("completed", "failed", "cancelled")
# The last that one has noted whose request is under way.
ASKING = "asking"
NO_DATABASE, UNDER_WAY = 503, 409
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class NoAnswer(Exception):
    """What was asked for may or may not have been done."""


@dataclass(slots=True)
class Caller:
    """Each of its requests is there as a whole or not at all, and once: which is what the names in the payloads are for."""

    name: str
    folder: Path
    log: TextIO
    chance: random.Random
    stopped: Callable[[float], bool]
    numbers: count[int] = field(default_factory=lambda: count(1))

    def run(self) -> None:
        """Ask in one of three ways, again and again."""
        while not self.stopped(PAUSE):
            try:
                if self._open() < MOST_OPEN:
                    self.chance.choice((self._by_request_key, self._by_dedupe_key, self._once))()
            except NoAnswer:
                self.stopped(TRY_AGAIN_AFTER)

    def _by_request_key(self) -> None:
        """Repeat the request under its key until it is answered: it is carried out once."""
        name = self._name()
        self._insist(self._wishes(name), {"Idempotency-Key": name})

    def _by_dedupe_key(self) -> None:
        """Repeat the request until it is answered: its tasks stand already, or have ended."""
        name = self._name()
        wishes = self._wishes(name)
        self._insist([wish | {"dedupe_key": f"{name}:{n}", "dedupe": EVER} for n, wish in enumerate(wishes)])

    def _once(self) -> None:
        """Ask once and never again, answered or not."""
        self._post(self._wishes(self._name()))

    def _insist(self, wishes: list[dict[str, Any]], headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Ask until answered, and as often as one asks who has not heard of it: once or twice."""
        times = self.chance.randint(1, 2)
        while times:
            try:
                self._post(wishes, headers)
                times -= 1
            except NoAnswer:
                if self.stopped(TRY_AGAIN_AFTER):
                    return

    def _post(self, wishes: list[dict[str, Any]], headers: Mapping[str, str] = NO_HEADERS) -> None:
        single = len(wishes) == 1
        path, body = ("", wishes[0]) if single else ("/batch", {"tasks": wishes})
        answer = self._ask("POST", path, json=body, headers=headers)
        stored = [answer] if single else answer
        self._note("acked", *(each["id"] for each in stored))

    def _open(self) -> int:
        return sum(each["number"] for each in self._ask("GET", "/counts") if each["state"] not in ENDED)

    def _ask(self, method: str, path: str, *, headers: Mapping[str, str] = NO_HEADERS, **words: Any) -> Any:
        """Return the answer; raises NoAnswer, and HTTPStatusError for what nobody has to expect."""
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
        """Where the newest API says that it is, and its token; raises NoAnswer while none has said so."""
        apis = sorted(self.folder.glob(f"{API}-*.stacks"), key=lambda file: file.stat().st_mtime_ns)
        try:
            told = json.loads(apis[-1].read_text())
            return told["http"], Path(told["token_file"]).read_text(encoding="ascii").strip()
        except (IndexError, ValueError) as error:
            raise NoAnswer from error

    def _patience(self) -> float:
        return self.chance.uniform(0, HURRY) if self.chance.random() < HURRIED else PATIENCE

    def _wishes(self, name: str) -> list[dict[str, Any]]:
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
