"""What the kernel grants the control group of this process, and what it counts there (Linux, version 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
NO_LIMIT = "max"


@dataclass(frozen=True, slots=True)
class Limit:
    """The tightest limit on a resource (bytes, or processors), and the group that it is set on."""

    group: Path
    amount: float


def memory_limit(root: Path = ROOT, own: Path = OWN) -> Limit | None:
    """The bytes at which the kernel kills; None where there is no limit."""
    limits = ((group, _words(group / "memory.max")) for group in _groups(root, own))
    return _tightest(Limit(group, float(words[0])) for group, words in limits if words and words[0] != NO_LIMIT)


def cpu_limit(root: Path = ROOT, own: Path = OWN) -> Limit | None:
    """The processors whose time the group may use; None where there is no limit."""
    limits = ((group, _words(group / "cpu.max")) for group in _groups(root, own))
    return _tightest(
        Limit(group, float(words[0]) / float(words[1])) for group, words in limits if words and words[0] != NO_LIMIT
    )


def memory_used(group: Path) -> float:
    """The bytes that count against the limit and that the kernel could not take back at once."""
    return float(_words(group / "memory.current")[0]) - _named(group / "memory.stat").get("inactive_file", 0.0)


def cpu_seconds(group: Path) -> float:
    """The processor time that the group has used so far."""
    return _named(group / "cpu.stat")["usage_usec"] / 1e6


def _groups(root: Path, own: Path) -> Iterator[Path]:
    # A limit on any group above counts as well.
    path = next((line[3:] for line in _lines(own) if line.startswith("0::")), None)
    if path is not None:
        group = root / path.lstrip("/")
        yield group
        yield from (above for above in group.parents if above.is_relative_to(root))


def _tightest(limits: Iterator[Limit]) -> Limit | None:
    return min(limits, key=lambda limit: limit.amount, default=None)


def _named(file: Path) -> dict[str, float]:
    return {name: float(number) for name, number in (line.split() for line in _lines(file))}


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file)[:1] for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
