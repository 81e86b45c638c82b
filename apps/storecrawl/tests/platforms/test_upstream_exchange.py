"""Requests of the client and its handling of unexpected responses."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from storecrawl.platforms.dutchie import UpstreamClient
from storecrawl.platforms.errors import (
    Blocked,
    ForbiddenUrl,
    ForeignRedirect,
    Malformed,
    SchemaDrift,
    TooLarge,
    Unavailable,
    UpstreamError,
    UpstreamFailure,
)
from storecrawl.platforms.exchange import seconds_of

from .conftest import QUICK, ClientFor, Serve

ONLY_ONCE = replace(QUICK, retries=0)
NO_STORES: dict[str, dict[str, list[object]]] = {"data": {"filteredDispensaries": []}}


class Recorder:
    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def respond(self, request: Request) -> Response:
        self.requests.append(request)
        return JSONResponse(NO_STORES)


async def test_request_headers_identify_the_client_and_the_operation(serve: Serve, client_for: ClientFor) -> None:
    recorder = Recorder()
    url = await serve(recorder.respond)

    await client_for(url, replace(QUICK, headers={"x-session": "s1"})).stores()

    sent = recorder.requests[0].headers
    assert sent["apollo-require-preflight"] == "true"
    assert sent["x-apollo-operation-name"] == "ConsumerDispensaries"
    assert (sent["accept"], sent["content-type"]) == ("application/json", "application/json")
    assert (sent["origin"], sent["referer"]) == (url, f"{url}/")
    assert sent["user-agent"].startswith("Mozilla/5.0 (")
    assert sent["accept-language"] == "en-US,en;q=0.9"
    assert sent["x-session"] == "s1"


async def test_stores_and_menus_are_requested_at_their_own_paths(serve: Serve, client_for: ClientFor) -> None:
    recorder = Recorder()
    client = client_for(f"{await serve(recorder.respond)}/base/", ONLY_ONCE)

    await client.stores()
    with pytest.raises(SchemaDrift):
        await client.menu("a" * 24)

    assert [request.url.path for request in recorder.requests] == ["/base/graphql", "/base/api-3/graphql"]


async def test_proxy_of_the_environment_is_not_used(
    serve: Serve, client_for: ClientFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    assert await client_for(await serve(Recorder().respond)).stores() == []


ODD_ANSWERS = {
    "a page of a wall": (HTMLResponse("<h1>Just a moment...</h1>"), Blocked, True),
    "half a document": (Response(b'{"data": {', media_type="application/json"), Unavailable, True),
    "nothing at all": (Response(b"", media_type="application/json"), Unavailable, True),
    "no content": (Response(status_code=204), Unavailable, True),
    "not UTF-8": (Response(b'{"data": {"x": "\xff"}}', media_type="application/json"), Malformed, True),
    "no number": (Response(b'{"data": {"x": NaN}}', media_type="application/json"), Malformed, True),
    "half a character": (Response(rb'{"data": {"x": "\ud800"}}', media_type="application/json"), Malformed, True),
    "nested without end": (Response(b"[" * 200_000 + b"]" * 200_000, media_type="application/json"), Malformed, True),
    "a fault that is none": (JSONResponse({"data": None, "errors": [None, 7]}), UpstreamError, True),
    "a list": (JSONResponse([]), SchemaDrift, True),
    "no root": (JSONResponse({"data": {"other": []}}), SchemaDrift, True),
    "a null root": (JSONResponse({"data": {"filteredDispensaries": None}}), UpstreamError, True),
    "rows of another kind": (
        JSONResponse({"data": {"filteredDispensaries": [{"id": 4}]}}),
        SchemaDrift,
        True,
    ),
    "a refusal": (
        JSONResponse({"errors": [{"message": "no", "extensions": {"code": "GRAPHQL_VALIDATION_FAILED"}}]}, 400),
        UpstreamError,
        False,
    ),
    "not found": (Response("nothing here", 404), UpstreamError, False),
    "unauthorized": (Response("who?", 401), Blocked, True),
}


@pytest.mark.parametrize("name", ODD_ANSWERS)
async def test_each_unusual_response_raises_its_error(serve: Serve, client_for: ClientFor, name: str) -> None:
    response, outcome, is_retryable = ODD_ANSWERS[name]

    async def respond(_: Request) -> Response:
        return response

    with pytest.raises(UpstreamFailure) as raised:
        await client_for(await serve(respond), ONLY_ONCE).stores()

    assert (type(raised.value), raised.value.retryable) == (outcome, is_retryable)


async def test_response_with_errors_next_to_its_data_is_accepted(serve: Serve, client_for: ClientFor) -> None:
    async def respond(_: Request) -> Response:
        return JSONResponse({**NO_STORES, "errors": [{"message": "a logo is missing"}]})

    assert await client_for(await serve(respond), ONLY_ONCE).stores() == []


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_body_above_the_limit_is_not_read_to_its_end(serve: Serve, client_for: ClientFor, encoding: str) -> None:
    blanks = b" " * 5_000_000
    body = gzip.compress(blanks) if encoding == "gzip" else blanks

    async def respond(_: Request) -> Response:
        return Response(body, headers={"Content-Encoding": encoding}, media_type="application/json")

    with pytest.raises(TooLarge) as raised:
        await client_for(await serve(respond), replace(QUICK, max_body_bytes=1_000_000)).stores()

    assert not raised.value.retryable


async def test_redirect_within_the_host_is_followed(serve: Serve, client_for: ClientFor) -> None:
    async def respond(request: Request) -> Response:
        if request.url.path == "/graphql":
            return RedirectResponse("/elsewhere")
        return JSONResponse(NO_STORES)

    assert await client_for(await serve(respond), ONLY_ONCE).stores() == []


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest",
        "http://localhost:1/graphql",
        "file:///etc/passwd",
        "//other.invalid/x",
    ],
)
async def test_redirect_to_another_host_is_not_followed(serve: Serve, client_for: ClientFor, location: str) -> None:
    async def respond(_: Request) -> Response:
        return RedirectResponse(location)

    with pytest.raises(ForeignRedirect):
        await client_for(await serve(respond), ONLY_ONCE).stores()


async def test_redirect_loop_is_abandoned_after_three(serve: Serve, client_for: ClientFor) -> None:
    paths: list[str] = []

    async def respond(request: Request) -> Response:
        paths.append(request.url.path)
        return RedirectResponse("/graphql")

    with pytest.raises(Unavailable, match="more than 3 redirects"):
        await client_for(await serve(respond), ONLY_ONCE).stores()

    assert len(paths) == 4


async def test_failed_connection_is_unavailable(client_for: ClientFor) -> None:
    with pytest.raises(Unavailable, match="ConnectError"):
        await client_for("http://127.0.0.1:9", ONLY_ONCE).stores()


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "ftp://upstream.example/",
        "upstream.example",
        "//upstream.example",
        "http://",
        "http://user@169.254.169.254/",
        "https://upstream.example/?next=1",
        "http://[::1",
        "",
    ],
)
def test_only_plain_http_urls_are_accepted(url: str) -> None:
    with pytest.raises(ForbiddenUrl):
        UpstreamClient(url)


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), (" 0 ", 0.0), (None, None), ("soon", None), ("-3", None)])
def test_retry_after_is_read_in_seconds(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


def test_retry_after_date_is_converted_to_seconds() -> None:
    later = datetime.now(UTC) + timedelta(minutes=20)

    assert 1_100 < (seconds_of(format_datetime(later, usegmt=True)) or 0) <= 1_200


def test_retry_after_date_in_the_past_means_no_wait() -> None:
    assert seconds_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
