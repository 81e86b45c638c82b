"""`storecrawl normalize FILE`: normalize one captured menu and show what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from storecrawl.catalog.normalize import (
    Menu,
    NotAMenu,
    Potency,
    PotencyUnit,
    Product,
    Refusal,
    Variant,
    normalize,
    parse_document,
)
from storecrawl.payloads import Limits, PayloadError
from storecrawl.payloads.unpacking import unpack

GZIP_MAGIC = b"\x1f\x8b"
EXIT_DONE = 0
EXIT_NOT_A_MENU = 2

UNIT_SIGNS: Final = {
    PotencyUnit.PERCENTAGE: "%",
    PotencyUnit.MILLIGRAMS: "mg",
    PotencyUnit.MILLIGRAMS_PER_GRAM: "mg/g",
    PotencyUnit.MILLIGRAMS_PER_ML: "mg/ml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much a menu holds; `specials` are products with a special, `refused` are products, not options."""

    products: int
    variants: int
    specials: int
    refused: int
    duplicates: int
    total_count: int | None
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeReport:
    """The answer for one file: either its menu, or the `error` that says why it is none."""

    file: str
    shape: str | None = None
    counts: Counts | None = None
    products: tuple[Product, ...] = ()
    refused: tuple[Refusal, ...] = ()
    error: str | None = None


def normalize_file(path: Path) -> tuple[int, NormalizeReport]:
    """Normalize a file, gzipped or plain; return the exit code (2 for what is no menu) and the report."""
    try:
        menu = normalize(parse_document(_content(path)))
    except NotAMenu as refusal:
        return EXIT_NOT_A_MENU, NormalizeReport(file=str(path), error=refusal.reason)
    return EXIT_DONE, _report(path, menu)


def render_json(report: NormalizeReport) -> str:
    """The report as indented JSON; amounts of money are integer cents, other exact figures plain numbers."""
    encoder = msgspec.json.Encoder(decimal_format="number")
    return msgspec.json.format(encoder.encode(report), indent=2).decode()


def render(report: NormalizeReport) -> RenderableType:
    """The report for a person: one line of counts, a table of options, and what was refused."""
    if report.counts is None:
        return f"[red]not a menu[/]  {escape(report.file)}: {escape(report.error or '')}"
    parts: list[RenderableType] = [_headline(report, report.counts), _table(report.products)]
    parts.extend(f"[yellow]refused[/]  {escape(_refusal_line(refusal))}" for refusal in report.refused)
    return Group(*parts)


def _content(path: Path) -> bytes:
    limits = Limits()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as problem:
        raise NotAMenu(f"cannot be read: {problem.strerror}") from None
    try:
        return _plain(descriptor, path, limits)
    except (OSError, PayloadError) as problem:
        raise NotAMenu(f"cannot be read: {_why(problem)}") from None
    finally:
        os.close(descriptor)


def _plain(descriptor: int, path: Path, limits: Limits) -> bytes:
    magic = os.read(descriptor, len(GZIP_MAGIC))
    if magic == GZIP_MAGIC:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return unpack(descriptor, str(path), limits)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        content = magic + file.read(limits.max_bytes + 1)
    if len(content) > limits.max_bytes:
        raise NotAMenu(f"larger than {limits.max_bytes} bytes")
    return content


def _why(problem: OSError | PayloadError) -> str:
    return problem.reason if isinstance(problem, PayloadError) else problem.strerror or str(problem)


def _report(path: Path, menu: Menu) -> NormalizeReport:
    return NormalizeReport(
        file=str(path),
        shape=menu.shape,
        counts=Counts(
            products=len(menu.products),
            variants=menu.variant_count,
            specials=menu.special_count,
            refused=sum(refusal.option is None for refusal in menu.refused),
            duplicates=menu.duplicates,
            total_count=menu.total_count,
            complete=menu.complete,
        ),
        products=menu.products,
        refused=menu.refused,
    )


def _headline(report: NormalizeReport, counts: Counts) -> str:
    claimed = "" if counts.total_count is None else f" of {counts.total_count}"
    return (
        f"[bold]{report.shape}[/]  {escape(report.file)}: {counts.products} products{claimed}, "
        f"{counts.variants} options, {counts.specials} on special, {counts.refused} refused, "
        f"{counts.duplicates} merged"
    )


def _table(products: tuple[Product, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("product", overflow="ellipsis", no_wrap=True, ratio=1)
    table.add_column("category")
    table.add_column("option")
    for heading in ("rec", "med", "THC", "stock"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in _rows(products):
        table.add_row(*map(escape, row))
    return table


def _rows(products: tuple[Product, ...]) -> Iterator[tuple[str, ...]]:
    for product in products:
        name, category = product.name, product.category or ""
        if not product.variants:
            yield name, category, "", "", "", _potency(product.thc), product.availability
        for variant in product.variants:
            rec = _price(variant.price_rec_cents, variant.special_rec_cents)
            med = _price(variant.price_med_cents, variant.special_med_cents)
            yield name, category, variant.option, rec, med, _potency(product.thc), _stock(variant)
            name = category = ""


def _price(cents: int | None, special_cents: int | None) -> str:
    if cents is None:
        return "-"
    return _dollars(cents) if special_cents is None else f"{_dollars(special_cents)} (was {_dollars(cents)})"


def _dollars(cents: int) -> str:
    return str(Decimal(cents).scaleb(-2))


def _potency(potency: Potency | None) -> str:
    if potency is None:
        return "-"
    figures = [f"{bound.normalize():f}" for bound in (potency.lo, potency.hi)]
    unit = UNIT_SIGNS[potency.unit] if potency.unit else "(no unit)"
    return f"{figures[0] if figures[0] == figures[1] else '-'.join(figures)} {unit}"


def _stock(variant: Variant) -> str:
    if variant.quantity is None:
        return "yes" if variant.in_stock else "no"
    return f"{variant.quantity}{'+' if variant.quantity_capped else ''}"


def _refusal_line(refusal: Refusal) -> str:
    what = f"option {refusal.option!r} of {refusal.external_id}" if refusal.option is not None else refusal.external_id
    return f"#{refusal.index} {what or '(no key)'}: {refusal.reason}"
