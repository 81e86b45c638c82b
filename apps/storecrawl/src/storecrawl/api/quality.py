"""The quality of the crawl over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.web import Connects, Reads
from storecrawl.serving.quality import QualityReport, quality_report
from storecrawl.serving.resources import HasCrawler

router = APIRouter(prefix="/api/quality", tags=["quality"])


@router.get("")
async def show(services: Reads, connects: Connects, crawler: HasCrawler) -> QualityReport:
    """Return the findings of the crawler's checks, known values by field, held menus, failing and stale stores."""
    return await quality_report(services, connects, crawler)
