"""Menus that a platform serves as one list of records in pages: fetch them, detect unchanged ones, rebuild them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from storecrawl.catalog.normalize.shapes import count_of
from storecrawl.egress import Visit
from storecrawl.fingerprint import fingerprint_of
from storecrawl.platforms.client import HttpClient
from storecrawl.platforms.errors import Malformed, SchemaDrift, Truncated, UpstreamFailure
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.protocol import Keep
from storecrawl.platforms.raw_pages import RawPage
from storecrawl.platforms.replies import json_error, json_of
from storecrawl.platforms.rest import member_at
from storecrawl.platforms.untrusted_json import NotJson, Unread, read_members

PART = "menu"
DIGEST_BYTES = 16
PAGE_CAP = 200
SMALLEST_SHARE = 0.5
SMALLEST_JUDGED = 20

PageRequest = Callable[[int], tuple[str, Mapping[str, str]]]
"""Returns the path and the parameters of a page, counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListForm:
    """The form of a platform's list: its member, the members that lead to its total, and those of every record.

    If a whole page lacks one of the `expected` members, the platform has changed its form.
    """

    member: str
    total: tuple[str, ...]
    key: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """A parsed page: its readable records, the others, and the number of records of the whole list."""

    records: Sequence[Any]
    unread: Sequence[Unread]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedMenu:
    """A menu before normalization. `digests` identify its responses.

    A menu that is not `is_complete` lacks records that the platform counts; their products must not be considered gone.
    """

    form: ListForm
    store_id: str
    pages: Mapping[int, ListPage]
    digests: Sequence[str] = ()

    @property
    def records(self) -> list[Any]:
        """Every record once, since a list may move between two pages; a later page counts."""
        found: dict[object, Any] = {}
        for number, page in self.pages.items():
            for index, record in enumerate(page.records):
                found[_key_of(record, self.form.key) or (number, index)] = record
        return list(found.values())

    @property
    def product_count(self) -> int:
        return len(self.records)

    @property
    def total(self) -> int:
        return max((page.total for page in self.pages.values()), default=0)

    @property
    def is_complete(self) -> bool:
        return len(self.records) + len(self._refused()) >= self.total

    def refuse_if_truncated(self) -> None:
        """Raise Truncated if less than half of the records that the platform counts were served."""
        served = len(self.records) + len(self._refused())
        if self.total >= SMALLEST_JUDGED and served < self.total * SMALLEST_SHARE:
            raise Truncated(served, self.total)

    def document(self) -> dict[str, Any]:
        """Return one document in the form of the platform's response, with a report about the fetch."""
        records, refused = self.records, self._refused()
        envelope: Any = self.total
        for name in reversed(self.form.total):
            envelope = {name: envelope}
        fetched = {
            "storeId": self.store_id,
            "complete": self.is_complete,
            "products": len(records),
            "pages": len(self.pages),
            "refused": refused,
        }
        return {**envelope, self.form.member: records, "fetched": fetched}

    def _refused(self) -> list[dict[str, Any]]:
        return [
            {"externalId": each.key, "reason": each.reason, "place": f"page {number}, member {each.index}"}
            for number, page in self.pages.items()
            for each in page.unread
        ]


@dataclass(slots=True, kw_only=True)
class _Walk:
    """A walk over the pages. A response with the expected digest is parsed only if a later one differs."""

    form: ListForm
    store_id: str
    keep: Keep
    expected: Sequence[str]
    digests: list[str] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    pages: dict[int, ListPage] = field(default_factory=dict)

    @property
    def is_same(self) -> bool:
        """Whether all responses so far are the expected ones."""
        return self.digests == list(self.expected[: len(self.digests)])

    def judge(self, reply: Reply) -> ListPage | None:
        """Keep and read a response; None if it is the expected one. Raises errors of the tree."""
        number = len(self.replies)
        self.keep(RawPage.of(reply, PART, number))
        digest = self._digest(reply.body, number)
        is_expected = self.is_same and number < len(self.expected) and digest == self.expected[number]
        page = None if is_expected else page_in(reply, self.form)
        if page is not None:
            earlier = {each: page_in(self.replies[each], self.form) for each in range(number) if each not in self.pages}
            self.pages |= earlier | {number: page}
        self.digests.append(digest)
        self.replies.append(reply)
        return page

    def menu(self) -> PagedMenu:
        return PagedMenu(form=self.form, store_id=self.store_id, pages=self.pages, digests=self.digests)

    def _digest(self, body: bytes, number: int) -> str:
        # Equal responses lead to an equal menu only as long as the code that reads them is the same.
        start = f"{fingerprint_of('platforms')} {self.store_id} {number} ".encode()
        return hashlib.blake2b(start + body, digest_size=DIGEST_BYTES).hexdigest()


async def fetch_list(  # sizes: a request, its visit, and the two ways in which its responses are used
    client: HttpClient,
    visit: Visit,
    form: ListForm,
    store_id: str,
    request: PageRequest,
    *,
    keep: Keep,
    digests: Sequence[str] = (),
) -> PagedMenu | None:
    """Fetch a list to its end, or return None if its responses have these digests. Raises Truncated."""
    walk = _Walk(form=form, store_id=store_id, keep=keep, expected=digests)
    for number in range(PAGE_CAP):
        if number:
            await asyncio.sleep(client.options.page_pause)
        page = await client.get(visit, *request(number), walk.judge)
        if page is not None:
            if not page.records or walk.menu().is_complete:
                break
        elif walk.is_same and number + 1 == len(digests):
            return None
    menu = walk.menu()
    menu.refuse_if_truncated()
    return menu


def merge_pages(form: ListForm, store_id: str, answers: Iterable[RawPage]) -> PagedMenu:
    """Rebuild a menu from its stored responses. Those that were rejected and fetched again are left out."""
    pages: dict[int, ListPage] = {}
    for answer in answers:
        with suppress(UpstreamFailure):
            pages[answer.number] = page_in(answer.reply, form)
    return PagedMenu(form=form, store_id=store_id, pages=pages)


def page_in(reply: Reply, form: ListForm) -> ListPage:
    """Parse a page without its unreadable members. Raises errors of the tree."""
    unread: list[Unread] = []
    try:
        document = json_of(reply)
    except Malformed:
        document, unread = _without_bad_members(reply, form)
    records, total = member_at(document, form.member), count_of(member_at(document, *form.total))
    if not isinstance(records, list):
        raise SchemaDrift(PART, f"the response has no list {form.member!r}")
    if total is None:
        raise SchemaDrift(PART, f"the response has no number {'.'.join(form.total)!r}")
    objects = [record for record in records if isinstance(record, dict)]
    for name in form.expected:
        if objects and not any(name in record for record in objects):
            raise SchemaDrift(PART, f"no record has a member {name!r}")
    return ListPage(records=records, unread=unread, total=total)


def _without_bad_members(reply: Reply, form: ListForm) -> tuple[Any, list[Unread]]:
    try:
        return read_members(reply.body, form.member)
    except NotJson as problem:
        raise json_error(reply, problem) from problem


def _key_of(record: Any, name: str) -> str | None:
    key = record.get(name) if isinstance(record, dict) else None
    return str(key) if key else None
