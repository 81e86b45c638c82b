"""The HTTP response of each kind of failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from storecrawl.demo.upstream.answers import Answer
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.faults import FaultDial, FaultKind

FOREIGN_HOST = "http://challenge.storecrawl.invalid/verify"
BLOCKED_PAGE = "<!doctype html><title>Attention Required</title><h1>Sorry, you have been blocked</h1>"

Document = dict[str, Any]
TrueAnswer = Callable[[], Answer]


def to_response(answer: Answer) -> Response:
    """Return the response of an answer."""
    return Response(answer.body, answer.status, media_type=answer.media_type)


async def failed_response(fault: FaultKind, dial: FaultDial, draw: Draw, true_answer: TrueAnswer) -> Response:
    """Return the response of a failure; the true answer is only computed if the failure needs it."""
    refusal = _refusal(fault, dial, draw)
    if refusal is not None:
        return refusal
    if fault is FaultKind.SLOW:
        await asyncio.sleep(dial.slow_seconds)
        return to_response(true_answer())
    return _cut(true_answer()) if fault is FaultKind.CUT else _distort(fault, draw, true_answer())


def _refusal(fault: FaultKind, dial: FaultDial, draw: Draw) -> Response | None:
    match fault:
        case FaultKind.BLOCKED:
            return HTMLResponse(BLOCKED_PAGE, 403)
        case FaultKind.RATE_LIMITED:
            return Response("slow down", 429, headers={"Retry-After": str(dial.retry_after_seconds)})
        case FaultKind.UNAVAILABLE:
            return HTMLResponse("<h1>Bad gateway</h1>", draw.pick((502, 503, 504)))
        case FaultKind.FOREIGN_REDIRECT:
            return RedirectResponse(FOREIGN_HOST, draw.pick((301, 302, 307)))
        case _:
            return None


def _cut(answer: Answer) -> Response:
    headers = {"Content-Length": str(len(answer.body))}
    return StreamingResponse(_half(answer.body), answer.status, headers, answer.media_type)


async def _half(body: bytes) -> AsyncIterator[bytes]:
    yield body[: len(body) // 2]
    # The server closes the connection after an incomplete response.
    raise ConnectionAbortedError("the connection is cut on purpose")


def _distort(fault: FaultKind, draw: Draw, answer: Answer) -> Response:
    document: Document = msgspec.json.decode(answer.body)
    data: Document | None = document.get("data")
    if data is not None:
        _DISTORTIONS[fault](document, data, draw)
    return to_response(Answer(answer.status, msgspec.json.encode(document)))


def _put_errors(document: Document, data: Document, draw: Draw) -> None:
    message = draw.pick(("Internal server error", "Request timed out", "Cannot read properties of undefined"))
    document["errors"] = [{"message": message, "path": list(data), "extensions": {"code": "INTERNAL_SERVER_ERROR"}}]
    document["data"] = draw.pick((None, dict.fromkeys(data)))


def _empty_page(_: Document, data: Document, draw: Draw) -> None:
    page = data["filteredProducts"]
    page["products"] = []
    if draw.chance(0.5):
        page["queryInfo"] |= {"totalCount": 0, "totalPages": 0}


def _truncate(_: Document, data: Document, draw: Draw) -> None:
    page = data["filteredProducts"]
    kept_count = len(page["products"]) // draw.integer(5, 20)
    page["products"] = page["products"][:kept_count]
    page["queryInfo"] |= {"totalCount": kept_count, "totalPages": min(1, kept_count)}


def _drift(_: Document, data: Document, draw: Draw) -> None:
    page = data.get("filteredProducts")
    if page is None or not page["products"]:
        _rename_root(data)
    else:
        draw.pick((_rename_products, _drop_counts, _rename_names, _rename_ids, _drop_prices))(page)


def _rename_root(data: Document) -> None:
    for name in list(data):
        data[f"{name}V2"] = data.pop(name)


def _rename_products(page: Document) -> None:
    page["items"] = page.pop("products")


def _drop_counts(page: Document) -> None:
    del page["queryInfo"]


def _rename_names(page: Document) -> None:
    for product in page["products"]:
        product["displayName"] = product.pop("Name")


def _rename_ids(page: Document) -> None:
    for product in page["products"]:
        product["productId"] = product.pop("_id")
        del product["id"]


def _drop_prices(page: Document) -> None:
    for product in page["products"]:
        for name in ("Prices", "recPrices", "medicalPrices"):
            del product[name]


_DISTORTIONS: dict[FaultKind, Callable[[Document, Document, Draw], None]] = {
    FaultKind.ERRORS: _put_errors,
    FaultKind.EMPTY_PAGE: _empty_page,
    FaultKind.TRUNCATED: _truncate,
    FaultKind.SCHEMA_DRIFT: _drift,
}
