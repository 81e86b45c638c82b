"""Reads what the worker processes said: what they lost, and what they should never say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOST = re.compile(r"must stop: taken|was dropped: taken")
ALREADY = re.compile("had been stored before")
# Warnings that chaos brings about; anything else, or worse, is a finding.
EXPECTED = re.compile(
    r"^(The database does not answer on connection"
    r"|No notifications, polling instead"
    r"|Task \d+ \(\w+\) failed at attempt"
    r"|More tasks fail"
    r"|Leases could not be renewed"
    r"|The loop has not turned for"
    r"|The handler of task \d+ \(\w+\) did not stop within"
    r"|SIGTERM again"
    r"|discarding closed connection|error connecting in|query cancellation interrupted)"
)


@dataclass(slots=True)
class Said:
    """What all workers together said."""

    lost: int = 0
    already: int = 0
    odd: Counter[str] = field(default_factory=Counter)


def read(folder: Path) -> Said:
    """Read the logs of all processes of a soak."""
    said = Said()
    for log in folder.glob("*.log"):
        for level, message in _records(log):
            said.lost += bool(LOST.search(message))
            said.already += bool(ALREADY.search(message))
            if level not in {"info", "debug"} and not (level == "warning" and EXPECTED.search(message)):
                said.odd[f"{level}: {message}"] += 1
    return said


def _records(log: Path) -> Iterator[tuple[str, str]]:
    """Yield level and message of each record; what is no record, as a traceback, comes as one."""
    stray = []
    for line in log.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            stray.append(line)
        else:
            trace = record.get("error")
            yield ("error", f"{record['message']}\n{trace}") if trace else (record["level"], record["message"])
    if stray:
        yield "unreadable", " | ".join(stray[-3:])
