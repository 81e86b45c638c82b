"""How much processor time and memory a worker uses, as a share of what it may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

import psutil

from rolecall.worker import cgroup
from rolecall.worker.cgroup import Limit

SHORTEST_SPAN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Shares of 1: of the container's limit where it has one, else of the machine; `memory_bytes` is the process
    tree's own. `cpu` is None until there was a span to measure it over.
    """

    cpu: float | None
    memory: float
    memory_bytes: int


class Resources:
    """Reads what this process and its descendants use.

    Where the container has a limit, what the kernel counts against that limit is the numerator: it counts the
    other processes of the container too, and kills for their sum.
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
        """Look for the container's limits, and measure against them."""
        return cls(memory=cgroup.memory_limit(), cpu=cgroup.cpu_limit())

    def read(self) -> Usage:
        """Measure; the processor's share is that of the time since the last reading, half a second at least."""
        tree = [self._process, *_descendants(self._process)]
        memory_bytes = int(sum(_each(tree, lambda process: process.memory_info().rss)))
        return Usage(cpu=self._cpu_share(tree), memory=self._memory_share(memory_bytes), memory_bytes=memory_bytes)

    def _memory_share(self, own_bytes: int) -> float:
        if self._memory is None:
            return own_bytes / psutil.virtual_memory().total
        return cgroup.memory_used(self._memory.group) / self._memory.amount

    def _cpu_share(self, tree: list[psutil.Process]) -> float | None:
        now = monotonic()
        if self._since is None or now - self._since[0] >= SHORTEST_SPAN:
            used = cgroup.cpu_seconds(self._cpu.group) if self._cpu else sum(_each(tree, _cpu_seconds))
            if self._since is not None:
                before, used_before = self._since
                self._share = max(0.0, used - used_before) / (now - before) / self._processors
            self._since = (now, used)
        return self._share


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _cpu_seconds(process: psutil.Process) -> float:
    # Those of children count once they have been waited for, so that no time is lost with who used it.
    return float(sum(process.cpu_times()[:4]))


def _each(tree: list[psutil.Process], read: Callable[[psutil.Process], float]) -> Iterator[float]:
    for process in tree:
        try:
            yield read(process)
        except psutil.Error:
            continue  # it ended meanwhile
