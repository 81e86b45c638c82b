"""A loopback upstream with one store whose menu consists of given bytes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.storecrawl.tests.platforms.conftest import serving_app

STORE = "5f0e8d7c6b5a493827161504"


def product(key: str, **changes: Any) -> dict[str, Any]:
    usual = {"Name": f"Product {key}", "Options": ["1g"], "recPrices": [20], "Status": "Active", "type": "Flower"}
    return {"_id": key, **usual, **changes}


def page(*members: object, total: object = 0) -> bytes:
    """Return a response with these members; texts are inserted as they are."""
    texts = [member if isinstance(member, str) else json.dumps(member) for member in members]
    info = json.dumps({"totalCount": total or len(members), "totalPages": 1})
    return f'{{"data": {{"filteredProducts": {{"products": [{", ".join(texts)}], "queryInfo": {info}}}}}}}'.encode()


class MenuServer:
    """`url`, and the response to requests for a menu; requests for the store are answered."""

    def __init__(self) -> None:
        self.url = ""
        self.body = page()
        self.content_type = "application/json"
        self.status = 200
        self.request_count = 0

    async def answer(self, request: Request) -> Response:
        if request.query_params.get("operationName") != "FilteredProducts":
            store = {"id": STORE, "name": "Sun", "cName": "sun", "recDispensary": True}
            return JSONResponse({"data": {"filteredDispensaries": [store]}})
        self.request_count += 1
        return Response(self.body, self.status, media_type=self.content_type)


@asynccontextmanager
async def menu_server() -> AsyncIterator[MenuServer]:
    server = MenuServer()
    async with serving_app(
        Starlette(routes=[Route("/{path:path}", server.answer, methods=["GET", "POST"])])
    ) as server.url:
        yield server
