"""The quality of the crawl, as the page and the API show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rolecall import Finding
from rolecall.web import Connections, Reads
from storecrawl.catalog import quality
from storecrawl.catalog.quality import FailingStores, HeldField, KnownField, StaleStores
from storecrawl.health_checks import MENU_ROLES, rounds_of
from storecrawl.roles.crawler import Crawler

# The doctor names the checks of an app with the app.
OURS = "storecrawl."


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldQuality:
    """A field of menus: the average share of known values in the last `menus`, and the menus held for it."""

    field: str
    share: float | None
    menus: int
    held: HeldField | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """The findings of the crawler's checks, and the facts behind them."""

    findings: list[Finding]
    stores: StaleStores
    fields: list[FieldQuality]
    failing: list[FailingStores]


async def quality_report(services: Reads, connects: Connections, crawler: Crawler) -> QualityReport:
    """Run the crawler's checks, and read the facts."""
    rounds = rounds_of(crawler)
    findings = [
        replace(finding, check=finding.check.removeprefix(OURS))
        for finding in await services.doctor.run_app_checks()
        if finding.check.startswith(OURS)
    ]
    async with connects() as connection:
        held, known = await quality.held_fields(connection), await quality.known_fields(connection)
        return QualityReport(
            findings=findings,
            stores=await quality.stale_stores(connection, rounds),
            fields=list(_fields(held, known)),
            failing=await quality.failing_stores(connection, MENU_ROLES, rounds),
        )


def _fields(held: Sequence[HeldField], known: Sequence[KnownField]) -> Iterator[FieldQuality]:
    held_by_field, known_by_field = {each.field: each for each in held}, {each.field: each for each in known}
    for field in sorted(held_by_field.keys() | known_by_field.keys()):
        now = known_by_field.get(field)
        yield FieldQuality(
            field=field,
            share=now.share if now else None,
            menus=now.menus if now else 0,
            held=held_by_field.get(field),
        )
