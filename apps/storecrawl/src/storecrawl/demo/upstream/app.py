"""The local upstream's web application: GraphQL endpoints, menu pages and control endpoints."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from storecrawl.demo.upstream.answers import Answer, Answerer, Extensions, GraphqlRequest
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.fault_answers import BLOCKED_PAGE, TrueAnswer, failed_response, to_response
from storecrawl.demo.upstream.faults import (
    ANSWER_FAULTS,
    FIRST_PAGE_FAULTS,
    HASH_FAULTS,
    WEB_FAULTS,
    FaultDial,
    FaultKind,
    FaultPlan,
)
from storecrawl.demo.upstream.menu_page import MENU_PATHS, NO_MENU, menu_page
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.other_platforms import other_routes
from storecrawl.demo.upstream.pictures import picture
from storecrawl.demo.upstream.world import World

GRAPHQL_PATHS = ("/graphql", "/api-2/graphql", "/api-3/graphql", "/api-4/graphql")
PREFLIGHT_HEADER = "apollo-require-preflight"
WEB_PAGE = "web page"
MOST_STEPS = 10_000


class Advance(msgspec.Struct):
    """The number of steps by which to advance simulated time."""

    steps: int = 1


class DialChange(msgspec.Struct):
    """Changes of the failure dial; missing values stay."""

    failure_rate: float | None = None
    weights: dict[FaultKind, float] | None = None
    slow_seconds: float | None = None
    retry_after_seconds: int | None = None


class UpstreamServer:
    """The state behind the endpoints; `app` is the ASGI application.

    Requests for `forbidden_stores` get a 403. `rewrite` changes every true answer with data.
    """

    def __init__(self, options: UpstreamOptions) -> None:
        self.world = World(options)
        self.faults = FaultPlan(options.seed, options.failures)
        self.forbidden_stores: frozenset[str] = frozenset()
        self.rewrite: Callable[[Answer], Answer] = lambda answer: answer
        self._answerer = Answerer(self.world)
        self.app = Starlette(
            routes=[
                *(Route(path, self._graphql, methods=["GET", "POST"]) for path in GRAPHQL_PATHS),
                *(Route(path, self._menu_page, methods=["GET"]) for path in MENU_PATHS),
                *other_routes(self.world, self._respond),
                Route("/images/{name}", _picture, methods=["GET"]),
                Route("/_control/advance", self._advance, methods=["POST"]),
                Route("/_control/failures", self._set_failures, methods=["POST"]),
                Route("/_control/forget", self._forget, methods=["POST"]),
                Route("/_control/stats", self._stats, methods=["GET"]),
            ]
        )

    def advance(self, steps: int) -> int:
        if not 0 <= steps <= MOST_STEPS:
            raise ValueError(f"steps must be between 0 and {MOST_STEPS}, not {steps}")
        return self.world.clock.advance(steps)

    def forget_queries(self) -> None:
        self._answerer.queries.forget()

    def stats(self) -> dict[str, Any]:
        """Return the counts of requests and failures, the step and the number of stores."""
        step = self.world.clock.step
        return {
            "step": step,
            "stores": self.world.directory.count_at(step),
            "requests": self.faults.requests.total(),
            "operations": dict(self.faults.requests),
            "faults": {kind.value: self.faults.faults[kind] for kind in FaultKind},
        }

    async def _graphql(self, http: Request) -> Response:
        if http.method == "GET" and not http.headers.get(PREFLIGHT_HEADER):
            return self._bad_request(f"A GET request needs the header {PREFLIGHT_HEADER}.")
        try:
            request = await _request_of(http)
        except ValueError as error:
            return self._bad_request(f"The request is not a GraphQL request: {error}")
        if _requested_stores(request) & self.forbidden_stores:
            return HTMLResponse(BLOCKED_PAGE, 403)
        operation = request.operation_name or "anonymous"
        fault = self.faults.next_fault(operation, _possible_faults(request))
        if fault is FaultKind.ROTATED:
            self.forget_queries()
        if fault is None or fault is FaultKind.ROTATED:
            answer = self._answerer.answer(request)
            return to_response(self.rewrite(answer) if answer.status == HTTPStatus.OK else answer)
        return await self._failed_response(fault, lambda: self._answerer.answer(request))

    async def _menu_page(self, http: Request) -> Response:
        fault = self.faults.next_fault(WEB_PAGE, WEB_FAULTS)
        name, root = http.path_params["name"], str(http.base_url).rstrip("/")
        if fault is not None:
            return await self._failed_response(fault, lambda: Answer(200, NO_MENU.encode(), "text/html"))
        return menu_page(self.world, name, root)

    async def _respond(self, operation: str, store_id: str | None, true_answer: TrueAnswer) -> Response:
        if store_id in self.forbidden_stores:
            return HTMLResponse(BLOCKED_PAGE, 403)
        fault = self.faults.next_fault(operation, WEB_FAULTS)
        if fault is not None:
            return await self._failed_response(fault, true_answer)
        answer = true_answer()
        return to_response(self.rewrite(answer) if answer.status == HTTPStatus.OK else answer)

    async def _failed_response(self, fault: FaultKind, true_answer: TrueAnswer) -> Response:
        draw = Draw("failed", self.faults.requests.total())
        return await failed_response(fault, self.faults.dial, draw, true_answer)

    def _bad_request(self, message: str) -> Response:
        answer: Answer = self._answerer.error(message, "BAD_REQUEST", 400)
        return to_response(answer)

    async def _advance(self, http: Request) -> Response:
        try:
            advance = msgspec.json.decode(await http.body() or b"{}", type=Advance)
            return JSONResponse({"step": self.advance(advance.steps)})
        except ValueError as error:
            return _bad_control(error)

    async def _set_failures(self, http: Request) -> Response:
        try:
            change = msgspec.json.decode(await http.body(), type=DialChange)
            self.faults.dial = _apply_change(self.faults.dial, change)
        except ValueError as error:
            return _bad_control(error)
        return Response(msgspec.json.encode(self.faults.dial), media_type="application/json")

    async def _forget(self, _: Request) -> Response:
        self.forget_queries()
        return JSONResponse({"forgotten": True})

    async def _stats(self, _: Request) -> Response:
        return JSONResponse(self.stats())


def _possible_faults(request: GraphqlRequest) -> frozenset[FaultKind]:
    first_page = FIRST_PAGE_FAULTS if request.is_first_page else frozenset()
    return ANSWER_FAULTS | first_page | (HASH_FAULTS if request.query is None else frozenset())


def _requested_stores(request: GraphqlRequest) -> set[str]:
    variables = request.variables or {}
    filters = (variables.get("productsFilter"), variables.get("dispensaryFilter"))
    objects = [each for each in filters if isinstance(each, dict)]
    named = (each.get(name) for each in objects for name in ("dispensaryId", "cNameOrID"))
    return {name for name in named if isinstance(name, str)}


async def _request_of(http: Request) -> GraphqlRequest:
    if http.method == "POST":
        return msgspec.json.decode(await http.body(), type=GraphqlRequest)
    parameters = http.query_params
    return GraphqlRequest(
        operation_name=parameters.get("operationName"),
        variables=msgspec.json.decode(parameters.get("variables", "null"), type=dict[str, Any] | None),
        query=parameters.get("query"),
        extensions=msgspec.json.decode(parameters.get("extensions", "null"), type=Extensions | None),
    )


async def _picture(http: Request) -> Response:
    return Response(picture(http.path_params["name"]), media_type="image/png")


def _apply_change(dial: FaultDial, change: DialChange) -> FaultDial:
    changed_values = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not None}
    current_values = {
        name: getattr(dial, name) for name in ("failure_rate", "weights", "slow_seconds", "retry_after_seconds")
    }
    return FaultDial(**(current_values | changed_values))


def _bad_control(error: ValueError) -> Response:
    return JSONResponse({"error": str(error)}, 400)
