"""The service layer over HTTP: a thin shell that turns requests into service calls and answers into JSON.

    request ──► limits ──► Access: who is it? ──► route: Owns, Reads, Operates, Administers ──► service ──► Postgres
                                                    │                                            │
                                                 403 for too little                     errors: one table, problem+json

A route is a function of a few lines: it declares what it takes, which scope it needs, and calls one service.
It knows no SQL, no table and no SQLSTATE.

    server, protocol                    the process that serves, and what one client may take of it
    application, state                  what a server is put together from, and what all its requests share
    limits, http, problems              every request and answer: bounds, hosts, headers, cookies, ETags, errors
    identity, logins, passwords, rates  who asks, and how often; `refusals` writes down who was not let in
    sessions                            which sessions a caller may see and end
    shared_rates                        how often, counted for several servers together
    dependencies, idempotency           what a route takes: its services by scope, once for each Idempotency-Key
    parameters, new_tasks, views        what requests are made of, and what tasks and chains look like in answers
    task_filters, query_words           which tasks are meant; words of a query that a route does not know are refused
    second_names                        what else an app's tasks are called in requests and answers
    own_tasks                           everybody their own tasks, for an app that mounts it
    api, events, documentation          the REST routes, the stream of events, the OpenAPI document
    dashboard                           the pages

An app mounts routers of its own (`App.mount`), made of the names exported here:

@router.get("/api/shops/{shop_id:int}", responses=refuses(404))
async def show(shop_id: PathId, connects: Connects, _: Reads) -> Shop:
    async with connects() as connection: ...
    raise RequestRefused(f"there is no shop {shop_id}", status=404, kind="shop-not-found")

and pages beside the dashboard's own:

pages = Pages("shop.pages", [NavigationEntry(label="Shops", path="/shops", icon="stores")])

@pages.get("/shops")
async def list_shops(view: Reading) -> Response:
    return view.page("shop/list.html", shops=...)
"""

from __future__ import annotations

from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.model.insight import TaskFilter
from rolecall.model.pages import Page, page_by_id, position, write_cursor
from rolecall.web.application import build
from rolecall.web.dashboard.navigation import NavigationEntry
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Administering, Operating, Reading, View
from rolecall.web.dependencies import Administers, Anybody, Connections, Connects, Operates, Reads
from rolecall.web.idempotency import OperatesOnce
from rolecall.web.parameters import Body, Id, Limit, Moment, PathId, agreed, with_items
from rolecall.web.problems import Problem, RequestRefused, refuses

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
    "NavigationEntry",
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
