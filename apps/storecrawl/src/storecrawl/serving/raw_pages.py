"""The answers in a raw menu, for whoever looks at them: what each is the answer to, or one of them as it came."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import islice

from rolecall.web import RequestRefused
from storecrawl.catalog import RawMenu
from storecrawl.payloads import OpenedPayload
from storecrawl.serving.means import Means
from storecrawl.upstream import RawPage, read_raw_pages

__all__ = ["RawPageFacts", "raw_page", "raw_pages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPageFacts:
    """What is known of an answer: its place among all, the page (from 0) of a price list in a mode, and its bytes."""

    index: int
    pricing_type: str
    mode: str
    page: int
    status: int
    content_type: str
    size: int

    @classmethod
    def of(cls, index: int, page: RawPage) -> RawPageFacts:
        """Leave out the bytes."""
        return cls(
            index=index,
            pricing_type=page.pricing_type,
            mode=page.mode,
            page=page.number,
            status=page.status,
            content_type=page.content_type,
            size=len(page.body),
        )


async def raw_pages(means: Means, raw: RawMenu) -> list[RawPageFacts]:
    """All answers of a raw menu, in the order in which they came. Raises RequestRefused."""
    with await means.open_raw(raw) as opened:
        return await asyncio.to_thread(_facts, opened)


async def raw_page(means: Means, raw: RawMenu, index: int) -> RawPage:
    """One answer of a raw menu, by its place. Raises RequestRefused."""
    with await means.open_raw(raw) as opened:
        page = await asyncio.to_thread(lambda: next(islice(read_raw_pages(opened.document()), index, None), None))
    if page is None:
        raise RequestRefused(f"raw menu {raw.id} has no answer {index}", status=404, kind="raw-page-not-found")
    return page


def _facts(opened: OpenedPayload) -> list[RawPageFacts]:
    return [RawPageFacts.of(index, page) for index, page in enumerate(read_raw_pages(opened.document()))]
