"""Menus with unchanged responses are not parsed; others are read completely."""

from __future__ import annotations

from dataclasses import replace

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.platforms.dutchie import ClientOptions, UpstreamClient
from storecrawl.platforms.dutchie import client as client_module
from storecrawl.platforms.dutchie.digests import Digests
from storecrawl.platforms.dutchie.pages import ListPage, page_in
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.raw_pages import RawPage

from .conftest import QUICK, ClientFor

SHORT = replace(QUICK, page_size=20)
OTHERS = [
    pytest.param(replace(SHORT, page_size=19), id="other pages"),
    pytest.param(replace(SHORT, page_cap=199), id="another cap"),
    pytest.param(replace(SHORT, modes=SHORT.modes[:1]), id="fewer modes"),
    pytest.param(replace(SHORT, modes=SHORT.modes[::-1]), id="another order"),
]


@pytest.fixture
def looked_into(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    read: list[int] = []

    def record_page(reply: Reply, number: int) -> ListPage:
        read.append(number)
        return page_in(reply, number)

    monkeypatch.setattr(client_module, "page_in", record_page)
    return read


async def fetch(client: UpstreamClient, store_id: str) -> tuple[list[str], list[RawPage]]:
    answers: list[RawPage] = []
    await client.menu(store_id)  # the client learns the known hash
    menu = await client.menu(store_id, keep=answers.append)
    return list(menu.digests), answers


async def test_pages_of_an_unchanged_menu_are_not_parsed(
    client_for: ClientFor, upstream: LocalUpstream, looked_into: list[int]
) -> None:
    client = client_for(upstream.url, SHORT)
    store = (await client.stores())[0].id
    digests, before = await fetch(client, store)
    looked_into.clear()
    after: list[RawPage] = []

    same = await client.menu_unless_same(store, ("rec",), digests, keep=after.append)

    assert (same, looked_into, len(digests)) == (None, [], len(before))
    assert after == before


@pytest.mark.parametrize("differs", [0, 1, -1])
async def test_menu_with_one_changed_page_equals_a_complete_read(
    client_for: ClientFor, upstream: LocalUpstream, differs: int
) -> None:
    client = client_for(upstream.url, SHORT)
    store = (await client.stores())[0].id
    digests, before = await fetch(client, store)
    digests[differs] = digests[differs][:-1] + "-"
    after: list[RawPage] = []

    menu = await client.menu_unless_same(store, ("rec",), digests, keep=after.append)

    assert menu is not None
    assert menu.document() == (await client.menu(store)).document()
    assert after == before


async def test_menu_changed_at_the_upstream_is_read(client_for: ClientFor, upstream: LocalUpstream) -> None:
    client = client_for(upstream.url, SHORT)
    store = (await client.stores())[0].id
    digests, _ = await fetch(client, store)
    upstream.advance()

    menu = await client.menu_unless_same(store, ("rec",), digests)

    assert menu is not None
    assert menu.document() == (await client.menu(store)).document()


@pytest.mark.parametrize("options", OTHERS)
async def test_responses_to_different_client_options_do_not_count_as_unchanged(
    client_for: ClientFor, upstream: LocalUpstream, options: ClientOptions
) -> None:
    client, other = client_for(upstream.url, SHORT), client_for(upstream.url, options)
    store = (await client.stores())[0].id
    digests, _ = await fetch(other, store)

    assert await client.menu_unless_same(store, ("rec",), digests) is not None


async def test_digests_of_one_price_list_do_not_cover_both(client_for: ClientFor, upstream: LocalUpstream) -> None:
    client = client_for(upstream.url, SHORT)
    store = (await client.stores())[0].id
    digests, _ = await fetch(client, store)

    menu = await client.menu_unless_same(store, ("rec", "med"), digests)

    assert menu is not None
    assert {kind.pricing_type for kind in menu.walks} == {"rec", "med"}


def test_same_responses_for_another_store_are_another_menu() -> None:
    answer = RawPage(part="rec full", number=0, status=200, content_type="application/json", body=b"{}")
    one, other = (Digests(dispensary_id=name, page_size=20, page_cap=20) for name in "ab")

    assert one.of(answer) != other.of(answer)


async def test_rejected_responses_are_excluded_from_the_menu_digests(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    client = client_for(upstream.url, replace(SHORT, retries=12))
    store = (await client.stores())[0].id
    digests, _ = await fetch(client, store)
    kinds = (FaultKind.ERRORS, FaultKind.SCHEMA_DRIFT, FaultKind.ROTATED)
    upstream.set_failures(FaultDial(failure_rate=0.4, weights=dict.fromkeys(kinds, 1.0)))
    failing, answers = await fetch(client, store)

    assert len(answers) > len(digests)
    assert failing == digests
    assert await client.menu_unless_same(store, ("rec",), digests) is None


async def test_menu_with_an_empty_page_is_read_each_time(client: UpstreamClient) -> None:
    """Upstreams with races send such pages, and the next response cannot be predicted."""
    digests, answers = await fetch(client, "f" * 24)

    assert (digests, bool(answers)) == ([], True)
