"""Stores: the list, one store with all that is known about it, and a fetch on request."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Response

from rolecall.web import (
    Connects,
    Operating,
    Pages,
    PathId,
    Reading,
    TaskFilter,
    page_by_id,
    position,
    write_cursor,
)
from storecrawl.actions.new_tasks import as_manual_requests
from storecrawl.catalog import (
    ProductFilter,
    Store,
    StoreFigures,
    StoreFilter,
    list_payloads,
    list_products,
    list_raw_menus,
    list_stores,
    states,
    store_categories,
    store_figures,
)
from storecrawl.catalog.normalize import Availability
from storecrawl.pages.plots import size_plot
from storecrawl.pages.query import ChosenAvailability, ChosenState, ChosenYes, Cursor, SearchedText, address_builder
from storecrawl.roles.crawler import store_key
from storecrawl.roles.payload_fetch import fetch_task
from storecrawl.roles.store_tasks import StoreTasks, read_store_tasks
from storecrawl.serving.lookup import crawlable, store_of

router = Pages()

# Each line of the list requires counting a whole menu.
STORES = 25
PRODUCTS = 25
TASKS = 8
REFUSED = 3
PLOTTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLine:
    """A store in the list."""

    store: Store
    figures: StoreFigures
    tasks: StoreTasks


@router.get("/stores")
async def list_all(  # sizes: the filters of the list
    view: Reading,
    connects: Connects,
    state: ChosenState = None,
    text: SearchedText = None,
    blocked: ChosenYes = None,
    dark: ChosenYes = None,
    cursor: Cursor = None,
) -> Response:
    """Show stores by id; `text` matches name, slug, chain and city."""
    after = position(cursor) or 0
    criteria = StoreFilter(
        state=state, text=text, blocked=blocked is not None, dark=dark is not None, after=after, limit=STORES + 1
    )
    async with connects() as connection:
        page = page_by_id(await list_stores(connection, criteria), STORES)
        figures = await store_figures(connection, [store.id for store in page.items])
        tasks = await read_store_tasks(connection, [store.id for store in page.items])
        known_states = await states(connection)
    return view.page(
        "storecrawl/stores/list.html",
        lines=[StoreLine(store=each, figures=figures[each.id], tasks=tasks[each.id]) for each in page.items],
        states=known_states,
        chosen={"state": (state or "").upper(), "text": text or "", "blocked": blocked or "", "dark": dark or ""},
        next_cursor=page.next_cursor,
        cursor=cursor,
        again=address_builder(view),
    )


@router.get("/stores/{store_id:int}")
async def show(  # sizes: the filters of the page's products
    store_id: PathId,
    view: Reading,
    connects: Connects,
    text: SearchedText = None,
    availability: ChosenAvailability = None,
    cursor: Cursor = None,
) -> Response:
    """Show a store: its facts, tasks, payloads and products."""
    store = await store_of(connects, store_id)
    criteria = ProductFilter(
        store_id=store_id, text=text, availability=availability, after=position(cursor),
        limit=PRODUCTS,
    )  # fmt: skip
    async with connects() as connection:
        figures = (await store_figures(connection, [store_id]))[store_id]
        tasks = (await read_store_tasks(connection, [store_id]))[store_id]
        payloads = await list_payloads(connection, store_id=store_id, limit=PLOTTED)
        products = await list_products(connection, criteria)
        categories = await store_categories(connection, store_id)
        refused = await list_raw_menus(connection, store_id=store_id, refused=True, limit=REFUSED)
    listed = await view.services.tasks.list(TaskFilter(key=store_key(store_id), limit=TASKS))
    return view.page(
        "storecrawl/stores/show.html",
        line=StoreLine(store=store, figures=figures, tasks=tasks),
        key=store_key(store_id),
        tasks=listed.items,
        payloads=payloads,
        sizes=size_plot(payloads),
        products=products.items,
        categories=categories,
        refused=refused,
        next_cursor=write_cursor(products.reached) if products.reached else None,
        cursor=cursor,
        availabilities=list(Availability),
        chosen={"text": text or "", "availability": availability or ""},
        again=address_builder(view),
    )


@router.post("/stores/{store_id:int}/fetch")
async def fetch_now(store_id: PathId, view: Operating, connects: Connects) -> Response:
    """Enqueue the task that fetches a store's menu now; a pending one for later becomes due now."""
    tasks = as_manual_requests(map(fetch_task, await crawlable(connects, [store_id])))
    [stored] = await view.services.tasks.enqueue_many(tasks)
    return view.done(f"Task {stored.id} fetches the menu as soon as a worker is free.")
