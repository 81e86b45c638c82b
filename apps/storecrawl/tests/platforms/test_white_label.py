"""A store of a white-label chain is fetched at the chain's own host and path."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import Response
from storecrawl.egress import Egress
from storecrawl.platforms.access import Access
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.errors import UpstreamError
from storecrawl.platforms.protocol import StoreAddress

from apps.storecrawl.tests.platforms.conftest import Serve


async def test_endpoint_with_a_path_receives_the_requests_for_stores_and_menus(serve: Serve) -> None:
    paths = []

    async def respond(request: Request) -> Response:
        paths.append(request.url.path)
        return Response(status_code=400)

    endpoint = f"{await serve(respond)}/api-4/graphql"
    address = StoreAddress(platform_store_id="0" * 24, endpoint=endpoint)
    async with Egress() as egress:
        platform = Dutchie(Access(upstream="http://127.0.0.1:9", egress=egress))
        with pytest.raises(UpstreamError):
            await platform.fetch(address, keep=lambda _: None)
        with pytest.raises(UpstreamError):
            await platform.resolve("a-slug", endpoint)

    assert paths == ["/api-4/graphql"] * 2
