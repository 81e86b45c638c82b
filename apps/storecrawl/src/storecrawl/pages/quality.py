"""The quality of the crawl: problems, known values by field, and failing fetches."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Connects, Pages, Reading
from storecrawl.serving.quality import quality_report
from storecrawl.serving.resources import HasCrawler

router = Pages()


@router.get("/quality")
async def show(view: Reading, connects: Connects, crawler: HasCrawler) -> Response:
    """Show the findings of the crawler's checks and the facts behind them."""
    return view.page("storecrawl/quality/show.html", report=await quality_report(view.services, connects, crawler))
