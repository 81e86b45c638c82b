"""Measures the CPU and memory use of a worker, and decides when it backs off."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time

import psutil

from rolecall.model.workers import Condition
from rolecall.worker.options import WorkerOptions

SHORTEST_SPAN = 0.5
ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
NO_LIMIT = "max"

log = logging.getLogger("rolecall.worker")


class ResourceMonitor:
    """Runs in the heartbeat thread and calls `on_change` there with each change: the reason, or None."""

    def __init__(self, options: WorkerOptions, on_change: Callable[[str | None], None]) -> None:
        self._resources = Resources.of_this_process()
        self._pressure = Pressure(
            memory=options.memory_backoff, cpu=options.cpu_backoff, duration=options.backoff_duration
        )
        self._on_change = on_change

    @property
    def has_threshold(self) -> bool:
        return self._pressure.has_threshold

    async def check(self) -> None:
        self._judge(self._resources.read())

    def condition(self) -> Condition:
        usage = self._resources.read()
        self._judge(usage)
        return Condition(
            cpu=usage.cpu,
            memory=usage.memory,
            memory_bytes=usage.memory_bytes,
            clock=time(),
            backing_off=self._pressure.reason,
        )

    def _judge(self, usage: Usage) -> None:
        before = self._pressure.reason
        self._pressure.note(usage, monotonic())
        after = self._pressure.reason
        if (before is None) is not (after is None):
            log.warning("Backing off: %s" if after else "No longer backing off (the reason was: %s)", after or before)
            self._on_change(after)


class Pressure:
    """Decides when to back off: from the first reading over a threshold until `duration` seconds after the last one."""

    def __init__(self, *, memory: float | None, cpu: float | None, duration: float) -> None:
        self._thresholds = {"memory": memory, "cpu": cpu}
        self._duration = duration
        self._until = 0.0
        self.reason: str | None = None

    @property
    def has_threshold(self) -> bool:
        return any(self._thresholds.values())

    def note(self, usage: Usage, now: float) -> None:
        reason = self._excess({"memory": usage.memory, "cpu": usage.cpu})
        if reason is not None:
            self.reason, self._until = reason, now + self._duration
        elif now >= self._until:
            self.reason = None

    def _excess(self, shares: dict[str, float | None]) -> str | None:
        for name, share in shares.items():
            threshold = self._thresholds[name]
            if threshold is not None and share is not None and share > threshold:
                return f"{name} at {share:.0%}, over the threshold of {threshold:.0%}"
        return None


class Resources:
    """Reads what this process and its descendants use.

    If the container has a limit, the kernel's own count is used. It includes the other processes of the container,
    and the kernel kills by that count.
    """

    def __init__(self, *, memory: Limit | None = None, cpu: Limit | None = None) -> None:
        self._process = psutil.Process()
        self._memory = memory
        self._cpu = cpu
        self._processors = cpu.amount if cpu else float(psutil.cpu_count() or 1)
        self._since: tuple[float, float] | None = None
        self._share: float | None = None

    @classmethod
    def of_this_process(cls) -> Resources:
        return cls(memory=memory_limit(), cpu=cpu_limit())

    def read(self) -> Usage:
        """Measure. The CPU share covers the time since the last reading, at least half a second."""
        tree = [self._process, *_descendants(self._process)]
        memory_bytes = int(sum(_each(tree, lambda process: process.memory_info().rss)))
        return Usage(cpu=self._cpu_share(tree), memory=self._memory_share(memory_bytes), memory_bytes=memory_bytes)

    def _memory_share(self, own_bytes: int) -> float:
        if self._memory is None:
            return own_bytes / psutil.virtual_memory().total
        return memory_used(self._memory.group) / self._memory.amount

    def _cpu_share(self, tree: list[psutil.Process]) -> float | None:
        now = monotonic()
        if self._since is None or now - self._since[0] >= SHORTEST_SPAN:
            used = cpu_seconds(self._cpu.group) if self._cpu else sum(_each(tree, _cpu_seconds))
            if self._since is not None:
                before, used_before = self._since
                self._share = max(0.0, used - used_before) / (now - before) / self._processors
            self._since = (now, used)
        return self._share


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Shares between 0 and 1, of the container's limit or otherwise of the machine.

    `memory_bytes` is the memory of the process tree. `cpu` is None until there are two readings.
    """

    cpu: float | None
    memory: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Limit:
    """The tightest limit on a resource (bytes or CPUs), and the control group that has it."""

    group: Path
    amount: float


def memory_limit(root: Path = ROOT, own: Path = OWN) -> Limit | None:
    """Return the memory limit in bytes, or None."""
    limits = ((group, _words(group / "memory.max")) for group in _groups(root, own))
    return _tightest(Limit(group, float(words[0])) for group, words in limits if words and words[0] != NO_LIMIT)


def cpu_limit(root: Path = ROOT, own: Path = OWN) -> Limit | None:
    """Return the CPU limit in CPUs, or None."""
    limits = ((group, _words(group / "cpu.max")) for group in _groups(root, own))
    return _tightest(
        Limit(group, float(words[0]) / float(words[1])) for group, words in limits if words and words[0] != NO_LIMIT
    )


def memory_used(group: Path) -> float:
    """Return the bytes that count against the limit and cannot be reclaimed at once."""
    return float(_words(group / "memory.current")[0]) - _read_fields(group / "memory.stat").get("inactive_file", 0.0)


def cpu_seconds(group: Path) -> float:
    """Return the CPU time of the group in seconds."""
    return _read_fields(group / "cpu.stat")["usage_usec"] / 1e6


def _tightest(limits: Iterator[Limit]) -> Limit | None:
    return min(limits, key=lambda limit: limit.amount, default=None)


def _groups(root: Path, own: Path) -> Iterator[Path]:
    # The limits of all parent groups apply as well.
    path = next((line[3:] for line in _lines(own) if line.startswith("0::")), None)
    if path is not None:
        group = root / path.lstrip("/")
        yield group
        yield from (above for above in group.parents if above.is_relative_to(root))


def _read_fields(file: Path) -> dict[str, float]:
    return {name: float(number) for name, number in (line.split() for line in _lines(file))}


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file)[:1] for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _cpu_seconds(process: psutil.Process) -> float:
    # Children that were waited for are included, so their time is not lost.
    return float(sum(process.cpu_times()[:4]))


def _each(tree: list[psutil.Process], read: Callable[[psutil.Process], float]) -> Iterator[float]:
    for process in tree:
        try:
            yield read(process)
        except psutil.Error:
            continue  # the process has ended
