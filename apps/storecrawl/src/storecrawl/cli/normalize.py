"""`storecrawl normalize FILE`: normalize one captured menu and show the result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final

import msgspec
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from typer import Argument, Exit, Option

from rolecall.cli import shown
from storecrawl.catalog.normalize import (
    Menu,
    NotAMenu,
    Potency,
    PotencyUnit,
    Product,
    Refusal,
    Variant,
    parse_document,
)
from storecrawl.platforms.readers import read_any
from storecrawl.storage import OpenedFile
from storecrawl.storage.gunzip import GzipError, Limits, gunzip

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
    """The counts of a document's records: each is a product, a merged duplicate, or refused.

    `specials` are products with a special. `total_count` is the number of products that the document claims for its
    menu, `left_out` how many of them it lacks, None if unknown.
    """

    records: int = 0
    products: int = 0
    variants: int = 0
    specials: int = 0
    refused: int = 0
    duplicates: int = 0
    total_count: int | None = None
    left_out: int | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeReport:
    """The result for one file: its menu, or the `error` if it is not a menu and all its records are refused."""

    file: str
    counts: Counts
    shape: str | None = None
    products: tuple[Product, ...] = ()
    refused: tuple[Refusal, ...] = ()
    error: str | None = None


def show_normalized(
    file: Annotated[Path, Argument(help="A captured menu, plain or gzipped JSON.")],
    *,
    as_json: Annotated[bool, Option("--json", help="Print everything as one JSON document.")] = False,
) -> None:
    """Show the result of normalizing a captured menu; exit 2 for a file that is not a menu."""
    code, report = normalize_file(file)
    if as_json:
        print(render_json(report))
    else:
        Console(stderr=code != 0).print(render(report))
    raise Exit(code)


def normalize_file(path: Path) -> tuple[int, NormalizeReport]:
    """Normalize a file, gzipped or plain; return the exit code (2 if it is not a menu) and the report."""
    try:
        menu = read_any(parse_document(_content(path)))
    except NotAMenu as refusal:
        return EXIT_NOT_A_MENU, _refusal_report(path, refusal)
    return EXIT_DONE, _report(path, menu)


def render_json(report: NormalizeReport) -> str:
    """Return the report as indented JSON; prices are integer cents, other exact figures plain numbers."""
    encoder = msgspec.json.Encoder(decimal_format="number")
    return msgspec.json.format(encoder.encode(report), indent=2).decode()


def render(report: NormalizeReport) -> RenderableType:
    """Return the report as text: one line of counts, a table of options, and the refusals."""
    parts: list[RenderableType] = [_headline(report)]
    if report.products:
        parts.append(_table(report.products))
    refused = (Text.assemble(("refused  ", "yellow"), shown(_refusal_line(refusal))) for refusal in report.refused)
    parts.extend(refused)
    return Group(*parts)


def _content(path: Path) -> bytes:
    limits = Limits()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as problem:
        raise NotAMenu(f"cannot be read: {problem.strerror}") from None
    try:
        return _plain(descriptor, limits)
    except (OSError, GzipError) as problem:
        raise NotAMenu(f"cannot be read: {_why(problem)}") from None
    finally:
        os.close(descriptor)


def _plain(descriptor: int, limits: Limits) -> bytes:
    magic = os.read(descriptor, len(GZIP_MAGIC))
    if magic == GZIP_MAGIC:
        packed = OpenedFile(descriptor)
        return b"".join(gunzip(packed.pieces(), packed.size, limits))
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        content = magic + file.read(limits.max_bytes + 1)
    if len(content) > limits.max_bytes:
        raise NotAMenu(f"larger than {limits.max_bytes} bytes")
    return content


def _why(problem: OSError | GzipError) -> str:
    return problem.reason if isinstance(problem, GzipError) else problem.strerror or str(problem)


def _report(path: Path, menu: Menu) -> NormalizeReport:
    return NormalizeReport(
        file=str(path),
        shape=menu.shape,
        counts=Counts(
            records=menu.record_count,
            products=len(menu.products),
            variants=menu.variant_count,
            specials=menu.special_count,
            refused=menu.refused_count,
            duplicates=menu.duplicates,
            total_count=menu.total_count,
            left_out=menu.left_out,
            complete=menu.complete,
        ),
        products=menu.products,
        refused=menu.refused,
    )


def _refusal_report(path: Path, refusal: NotAMenu) -> NormalizeReport:
    counts = Counts(records=refusal.record_count, refused=refusal.record_count)
    return NormalizeReport(file=str(path), counts=counts, refused=refusal.refused, error=refusal.reason)


def _headline(report: NormalizeReport) -> Text:
    counts, file = report.counts, shown(report.file)
    if report.error is not None:
        subject = f"{counts.records} records, all refused: " if counts.records else ""
        return Text.assemble(("not a menu", "red"), f"  {file}: {subject}{shown(report.error)}")
    claim = "" if counts.total_count is None else f" of {counts.total_count}"
    return Text.assemble(
        (str(report.shape), "bold"),
        f"  {file}: {counts.products} products{claim}, {counts.variants} options, {counts.specials} on special, "
        f"{counts.refused} refused, {counts.duplicates} merged",
        ("" if counts.complete else f"; incomplete: {_left_out_text(counts)}", "yellow"),
    )


def _left_out_text(counts: Counts) -> str:
    return "unknown number left out" if counts.left_out is None else f"{counts.left_out} left out"


def _table(products: tuple[Product, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("product", overflow="ellipsis", no_wrap=True, ratio=1)
    table.add_column("category")
    table.add_column("option")
    for heading in ("rec", "med", "THC", "stock"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in _rows(products):
        table.add_row(*(Text(shown(cell)) for cell in row))
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
    subject = (
        f"option {refusal.option!r} of {refusal.external_id}" if refusal.option is not None else refusal.external_id
    )
    return f"#{refusal.index} {subject or '(no key)'}: {refusal.reason}"
