"""Reads the logs of the worker processes: which tasks they lost, and records that must never occur."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOST = re.compile(r"must stop: taken|was dropped: taken")
HANDED_OVER = re.compile("Tasks are dispatched through Redis")
KEPT_BACK = re.compile(r"\d+ outcomes cannot be stored yet")
ALREADY = re.compile("had been stored before")
# Warnings that the faults cause. Any other warning or error is a finding, except those of the driver.
EXPECTED = re.compile(
    r"^(The database does not answer on connection"
    r"|Connection '\w+' waits until the database accepts writes"
    r"|\d+ tasks could not be (marked as started|returned)"
    r"|No notifications, polling instead"
    r"|Task \d+ \(\w+\)(?: for \S+)? failed at attempt"
    r"|The outcome of task \d+ \(\w+\)(?: for \S+)? was dropped: taken"
    r"|More tasks fail"
    r"|Leases could not be renewed"
    r"|The event loop has been blocked for"
    r"|The handler of task \d+ \(\w+\) did not stop within"
    r"|This worker could not deregister: "
    r"|\d+ tasks are returned before their start"
    r"|Task \d+ was already completed: the repeated transaction of its handler"
    r"|\d+ outcomes cannot be stored yet"
    r"|Worker [\d, ]+ (is dead, because |has no (heartbeat and no )?session left)"
    r"|The tasks of an ended process could not be rescued at once"
    r"|This worker was missing from the worker registry"
    r"|A worker ended with -?\d+, starting it again"
    r"|Cannot dispatch tasks, retrying"
    r"|Redis does not answer, polling instead"
    r"|Reclaiming failed"
    r"|No dispatcher is running"
    r"|SIGTERM again)"
)
DRIVER = "psycopg"
# The message with which a command exits. Its exit code is checked elsewhere.
LAST_WORDS = "rolecall: "


@dataclass(slots=True)
class Said:
    """The contents of all logs."""

    lost: int = 0
    already: int = 0
    kept_back: int = 0
    handed_over: int = 0
    odd: Counter[str] = field(default_factory=Counter)


def read(folder: Path) -> Said:
    """Read the logs of all processes of a soak."""
    result = Said()
    for log in folder.glob("*.log"):
        for record in _records(log):
            message = str(record["message"])
            result.lost += bool(LOST.search(message))
            result.kept_back += bool(KEPT_BACK.match(message))
            result.already += bool(ALREADY.search(message))
            result.handed_over += bool(HANDED_OVER.match(message))
            if not _is_expected(record):
                result.odd[f"{record['level']}: {message} {record.get('error', '')}"] += 1
    return result


def _records(log: Path) -> Iterator[dict[str, object]]:
    """Yield every record. Text that is not a record, such as a traceback, is returned as one."""
    stray = []
    for line in log.read_text(errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            if not line.startswith(LAST_WORDS):
                stray.append(line)
    if stray:
        yield {"level": "unreadable", "message": " | ".join(stray[-3:])}


def _is_expected(record: dict[str, object]) -> bool:
    if record["level"] != "warning":
        return record["level"] in {"info", "debug"}
    ours = not str(record["logger"]).startswith(DRIVER)
    return not ours or ("error" not in record and bool(EXPECTED.match(str(record["message"]))))
