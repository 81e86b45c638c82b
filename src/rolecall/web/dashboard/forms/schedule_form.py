"""The form of a schedule: converts a schedule to text, and typed text to fields of a schedule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rolecall.model.durations import write_duration
from rolecall.model.errors import RolecallError, ScheduleConflict, UnknownRole
from rolecall.model.schedules import StoredSchedule
from rolecall.web.dashboard.forms.values import read_field, read_integer, read_moment, read_object, read_seconds

# How the text of each field is parsed. Of `every` and `cron`, only the chosen one is parsed.
READERS: Mapping[str, Callable[[str], object]] = {
    "name": str.strip,
    "handler": str,
    "role": str.strip,
    "every": read_seconds,
    "cron": str.strip,
    "zone": str.strip,
    "misfire": str,
    "overlap": str,
    "jitter": read_seconds,
    "payload": read_object,
    "priority": read_integer,
    "key": str,
}
# The only fields of an immutable schedule that can be changed.
EDITABLE = ("every", "cron", "zone", "priority")
NEW: Mapping[str, str] = {
    "rhythm": "every",
    "every": "1h",
    "zone": "UTC",
    "misfire": "one",
    "overlap": "queue",
    "jitter": "0",
    "payload": "{}",
    "priority": "0",
    "enabled": "yes",
}
NEEDED = "this is required"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleForm:
    """The typed text and the problem of each field. The problem `""` applies to the whole form.

    `meanwhile` contains concurrent changes of the fields that differ from the typed text.
    """

    typed: Mapping[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    meanwhile: Mapping[str, str] = field(default_factory=dict)

    def read(self, *, immutable: bool = False) -> dict[str, Any] | None:
        """Return the fields of the schedule, or None if one is invalid. Problems are added to `problems`."""
        values = {name: self._read(name, read) for name, read in READERS.items() if self._is_read(name, immutable)}
        values = {name: value for name, value in values.items() if value is not None}
        rhythm = self.typed.get("rhythm", "every")
        if rhythm not in values and rhythm not in self.problems:
            self.problems[rhythm] = NEEDED
        if not immutable:
            values |= self._read_other_fields()
        return None if self.problems else values

    def blame(self, error: RolecallError) -> None:
        """Assign an error of the service to the field that it concerns."""
        problem = str(error)
        for start in (f"schedule {self.typed.get('name')!r}: ", f"schedule {self.typed.get('name')}: ", "task 0: "):
            problem = problem.removeprefix(start)
        self.problems[self._place_of(error, problem)] = problem

    def with_stored(self, standing: StoredSchedule) -> ScheduleForm:
        """Return the form with the values that are stored now next to the typed ones."""
        now = to_texts(standing)
        others = {name: text or "nothing" for name, text in now.items() if text != self.typed.get(name, "")}
        typed = {**self.typed, "revision": now["revision"]}
        return ScheduleForm(typed=typed, problems=self.problems, meanwhile=others)

    def _is_read(self, name: str, immutable: bool) -> bool:  # noqa: FBT001 - the schedule's own word
        rhythm = self.typed.get("rhythm", "every")
        if (name in {"every", "cron"} and name != rhythm) or (name == "zone" and rhythm != "cron"):
            return False
        return not immutable or name in EDITABLE

    def _read_other_fields(self) -> dict[str, Any]:
        values: dict[str, Any] = {"enabled": bool(self.typed.get("enabled"))}
        if not self.typed.get("key"):
            values["key"] = None
        if self.typed.get("immutable"):
            values["immutable"] = True
        first = self._read("first_run_at", lambda text: read_moment(text, self.typed.get("zone", "")))
        return values if first is None else values | {"first_run_at": first}

    def _place_of(self, error: RolecallError, problem: str) -> str:
        if isinstance(error, UnknownRole):
            return "role" if self.typed.get("role") else "handler"
        if isinstance(error, ScheduleConflict):
            return "name" if problem.startswith("there is already") else ""
        if "time zone" in problem:
            return "zone"
        found = {name: match.start() for name in READERS if (match := re.search(rf"\b{name}\b", problem))}
        return min(found, key=lambda name: found[name], default="")

    def _read(self, name: str, read: Callable[[str], Any]) -> Any:
        return read_field(self.typed, name, read, self.problems)


def to_texts(schedule: StoredSchedule) -> dict[str, str]:
    """Return the fields of a schedule as text."""
    return {
        "name": schedule.name,
        "handler": schedule.handler,
        "role": schedule.role,
        "rhythm": "cron" if schedule.cron else "every",
        "every": "" if schedule.every is None else write_duration(schedule.every),
        "cron": schedule.cron or "",
        "zone": schedule.zone,
        "misfire": schedule.misfire,
        "overlap": schedule.overlap,
        "jitter": write_duration(schedule.jitter),
        "payload": json.dumps(schedule.payload, ensure_ascii=False, indent=2),
        "priority": str(schedule.priority),
        "key": schedule.key or "",
        "enabled": "yes" if schedule.enabled else "",
        "revision": str(schedule.revision),
    }
