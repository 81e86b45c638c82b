"""The crawl benchmark's tables: parts, growth, memory, handlers, statements, functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import linear_regression

from rich.console import Console
from rich.table import Table

from bench.crawl_cycles import Memory, Part

SHOWN = 14
LEAST_GROWTH = 100_000
KINDS = ("workers", "Postgres", "upstream")
OWN = ("storecrawl", "rolecall")
ELSEWHERE = "the event loop, libraries without a caller of ours, imports"
MEGABYTE, KILOBYTE = 1e6, 1e3


def show(parts: Sequence[Part], console: Console) -> None:
    """Print all tables."""
    console.print(_parts(parts))
    for sentence in _sentences(parts):
        console.print(sentence, soft_wrap=True, markup=False)
    crawls = [part for part in parts if part.stores]
    for part in crawls:
        console.print(_growth(part), _handlers(part), _statements(part), _areas(part), _functions(part))
    console.print(_memory(crawls))


def slope(part: Part) -> float:
    """Return a worker's growth in bytes per store in the second half of a part; the first half fills caches."""
    later = [each for each in part.memory if 2 * _done(each) >= part.stores]
    stores = [_done(each) for each in later]
    if len(set(stores)) <= 1:
        return 0.0
    return linear_regression(stores, [sum(each.workers) / len(each.workers) for each in later]).slope


def _done(memory: Memory) -> float:
    """Return the work done, in stores: fetching and refreshing a store count half each."""
    return (memory.fetched + memory.stores) / 2


def _parts(parts: Sequence[Part]) -> Table:
    titles = ("seconds", "stores/min", "products/s", *(f"{kind} CPU s" for kind in KINDS))
    table = _table("part", *titles, "WAL MB", "full pages", "database MB", "files MB")
    for part in parts:
        rates = (60 * part.stores / part.seconds, part.products / part.seconds) if part.stores else ()
        table.add_row(
            part.name,
            f"{part.seconds:.1f}",
            *([f"{rate:,.0f}" for rate in rates] or ("", "")),
            *(f"{part.cpu(kind):.1f}" for kind in KINDS),
            f"{part.wal / MEGABYTE:,.1f}",
            f"{part.end.full_pages - part.begin.full_pages:,}",
            f"{(part.end.database - part.begin.database) / MEGABYTE:,.1f}",
            f"{(part.end.files - part.begin.files) / MEGABYTE:,.1f}",
        )
    return table


def _sentences(parts: Sequence[Part]) -> Iterator[str]:
    crawls = [part for part in parts if part.stores]
    for part in crawls:
        own = part.cpu("workers") + part.cpu("Postgres")
        yield (
            f"{part.name}, upstream excluded: {1000 * own / part.stores:.0f} ms of CPU and"
            f" {part.wal / part.stores / KILOBYTE:.0f} kB of WAL a store, {1e6 * own / part.products:.0f} us a product;"
            f" a worker grew by {1000 * slope(part) / MEGABYTE:.2f} MB with a thousand stores"
        )
    for first, later in pairwise(crawls):
        ratios = {
            "time": later.seconds / first.seconds,
            "workers' CPU": later.cpu("workers") / first.cpu("workers"),
            "Postgres' CPU": later.cpu("Postgres") / first.cpu("Postgres"),
            "WAL": later.wal / first.wal,
        }
        yield f"{later.name} / {first.name}: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    for later in crawls[1:]:
        yield _growth_sentence(crawls[0], later)


def _growth_sentence(first: Part, later: Part) -> str:
    """Return the ratios of a later cycle to the first one that the growth bar compares."""
    database, files = _grown(later)
    first_database, first_files = _grown(first)
    together = (database + files) / (first_database + first_files)
    cpu = [part.cpu("workers") + part.cpu("Postgres") for part in (later, first)]
    return (
        f"bar: {later.name} / {first.name}: database {database / first_database:.4f}, files {files / first_files:.4f},"
        f" together {together:.4f}, CPU {cpu[0] / cpu[1]:.2f};"
        f" {database / later.stores / KILOBYTE:.1f} kB of database and"
        f" {files / later.stores / KILOBYTE:.1f} kB of files a store,"
        f" at first {first_database / first.stores / KILOBYTE:.0f} and {first_files / first.stores / KILOBYTE:.0f}"
    )


def _grown(part: Part) -> tuple[int, int]:
    """Return the bytes by which the database and the files grew."""
    return part.end.database - part.begin.database, part.end.files - part.begin.files


def _growth(part: Part) -> Table:
    titles = ("heap +MB", "indexes +MB", "inserted", "updated", "of them in place", "deleted")
    table = _table(f"{part.name}: tables", *titles)
    changes = [(part.begin.tables[name], after) for name, after in part.end.tables.items() if name in part.begin.tables]
    grown = [
        (before, after)
        for before, after in changes
        if abs(after.heap + after.indexes - before.heap - before.indexes) > LEAST_GROWTH
        or after.updated > before.updated
    ]
    for before, after in sorted(grown, key=lambda pair: pair[0].heap - pair[1].heap):
        updated = after.updated - before.updated
        table.add_row(
            after.name,
            f"{(after.heap - before.heap) / MEGABYTE:,.1f}",
            f"{(after.indexes - before.indexes) / MEGABYTE:,.1f}",
            f"{after.inserted - before.inserted:,}",
            f"{updated:,}",
            f"{(after.updated_hot - before.updated_hot) / updated:.0%}" if updated else "",
            f"{after.deleted - before.deleted:,}",
        )
    return table


def _handlers(part: Part) -> Table:
    table = _table(f"{part.name}: handlers", "tasks", "not completed", "median ms", "p95 ms", "all s")
    for each in part.handlers:
        figures = (_milliseconds(each.p50), _milliseconds(each.p95), f"{each.seconds:,.1f}")
        table.add_row(each.name, f"{each.tasks:,}", f"{each.not_completed:,}", *figures)
    return table


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:,.0f}"


def _statements(part: Part) -> Table:
    table = _table(f"{part.name}: statements", "calls", "ms a call", "all s", "share", "kB WAL a call", "WAL MB")
    whole = sum(each.seconds for each in part.statements)
    for each in part.statements[:SHOWN]:
        table.add_row(
            each.name,
            f"{each.calls:,}",
            f"{1000 * each.seconds / each.calls:.2f}",
            f"{each.seconds:.1f}",
            f"{each.seconds / whole:.0%}",
            f"{each.wal / each.calls / KILOBYTE:.1f}",
            f"{each.wal / MEGABYTE:.1f}",
        )
    return table


def _areas(part: Part) -> Table:
    areas: dict[str, float] = defaultdict(float)
    for place, seconds in _spent(part).items():
        areas[_area(place)] += seconds
    return _shares(f"{part.name}: where workers burn CPU", areas)


def _functions(part: Part) -> Table:
    return _shares(f"{part.name}: functions", _spent(part))


def _spent(part: Part) -> dict[str, float]:
    before = part.begin.samples
    return {place: seconds - before.get(place, 0.0) for place, seconds in part.end.samples.items()}


def _area(place: str) -> str:
    module = place.partition(":")[0].split(".")
    if module[0] not in OWN:
        return ELSEWHERE
    return ".".join(module[: 3 if module[1:3] == ["catalog", "normalize"] else 2])


def _shares(title: str, spent: Mapping[str, float]) -> Table:
    table = _table(title, "CPU s", "share")
    whole = sum(spent.values()) or 1.0
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1])[:SHOWN]:
        table.add_row(name, f"{seconds:.1f}", f"{seconds / whole:.0%}")
    return table


def _memory(parts: Iterable[Part]) -> Table:
    table = _table("MB of each worker", "at the start", "a quarter", "half", "three quarters", "at the end", "most")
    for part in parts:
        moments = [_held(part.memory, share * part.stores) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
        most = [max(each) for each in zip(*(memory.workers for memory in part.memory), strict=True)]
        table.add_row(part.name, *(_megabytes(each) for each in (*moments, most)))
    return table


def _held(memory: Sequence[Memory], stores: float) -> Sequence[int]:
    return next(each.workers for each in memory if _done(each) >= min(stores, _done(memory[-1])))


def _megabytes(workers: Iterable[int]) -> str:
    return " ".join(f"{each / MEGABYTE:.0f}" for each in workers)


def _table(first: str, *titles: str) -> Table:
    table = Table(first)
    for title in titles:
        table.add_column(title, justify="right")
    return table
