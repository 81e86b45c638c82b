"""The HTTP server: the REST API, the stream of events and the dashboard, as a thin layer over the services.

    request ──► limits ──► Access: identify ──► route: Owns, Reads, Operates, Administers ──► service ──► Postgres
                                                  │                                            │
                                                 403: scope too low                  errors: problem+json

A route declares its parameters and the scope it needs, and calls one service. It contains no SQL.

Apps mount their own routers (`App.mount`), built from the names exported here:

@router.get("/api/shops/{shop_id:int}", responses=refuses(404))
async def show(shop_id: PathId, connects: Connects, _: Reads) -> Shop:
    async with connects() as connection: ...
    raise RequestRefused(f"there is no shop {shop_id}", status=404, kind="shop-not-found")

and add pages to the dashboard:

pages = Pages("shop.pages", [NavigationEntry(label="Shops", path="/shops", icon="stores")])

@pages.get("/shops")
async def list_shops(view: Reading) -> Response:
    return view.page("shop/list.html", shops=...)
"""

from __future__ import annotations

from rolecall.extras import require

require("web")

from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.pages import Page, page_by_id, position, write_cursor
from rolecall.web.application import build
from rolecall.web.dashboard.navigation import NavigationEntry, NavigationPart
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Administering, Operating, Reading, View
from rolecall.web.dependencies import Administers, Anybody, Connections, Connects, Mounted, Operates, Reads
from rolecall.web.fields.parameters import Body, Id, Limit, Moment, PathId, agreed, with_items
from rolecall.web.http.problems import Problem, RequestRefused, refuses
from rolecall.web.idempotency import OperatesOnce

__all__ = [
    "AccessSettings",
    "Administering",
    "Administers",
    "Anybody",
    "AuthMode",
    "Body",
    "Connections",
    "Connects",
    "Id",
    "Limit",
    "Moment",
    "Mounted",
    "NavigationEntry",
    "NavigationPart",
    "Operates",
    "OperatesOnce",
    "Operating",
    "Page",
    "Pages",
    "PathId",
    "Problem",
    "Reading",
    "Reads",
    "RequestRefused",
    "Settings",
    "TaskFilter",
    "View",
    "agreed",
    "build",
    "page_by_id",
    "position",
    "refuses",
    "with_items",
    "write_cursor",
]
