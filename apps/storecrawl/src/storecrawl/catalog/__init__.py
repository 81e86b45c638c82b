"""The catalog: what stores, products, variants and prices are known, and how a crawl payload becomes them.

`normalize` turns a document into a `Menu`; `apply_menu` brings it into Postgres; `discovery` is where stores come from.
All functions that take a connection run in the caller's transaction and never commit.
"""

from __future__ import annotations

from storecrawl.catalog.blocked_stores import BlockedStores, block_store, count_blocked_stores
from storecrawl.catalog.brands import (
    Brand,
    BrandOrder,
    CategoryFigures,
    StoreOfBrand,
    find_brand,
    list_brands,
    store_categories,
    stores_of_brand,
)
from storecrawl.catalog.derivation import (
    Changes,
    all_stores,
    begin_round,
    count_stores,
    in_batches,
    merge_statistics,
    nothing_lost,
    take_changes,
)
from storecrawl.catalog.diff import FieldChange, MenuDiff, ProductChange, diff_payloads
from storecrawl.catalog.errors import (
    CatalogError,
    DifferentPayload,
    ImplausibleMenu,
    LocationRefused,
    NoPayload,
    UnknownBrand,
    UnknownImage,
    UnknownLocation,
    UnknownPayload,
    UnknownProduct,
    UnknownStore,
)
from storecrawl.catalog.image_rows import (
    DueImage,
    KeptImage,
    due_images,
    find_image,
    images_of_products,
    keep_image,
    note_images,
    put_off_image,
    without_image,
)
from storecrawl.catalog.payload_expiry import ExpirablePayload, Retention, expirable_payloads, mark_expired
from storecrawl.catalog.payload_lists import latest_payload, list_payloads, payloads_to_compare
from storecrawl.catalog.payload_rows import StoredPayload, find_payload, record_payload, without_row
from storecrawl.catalog.plausibility import Plausibility
from storecrawl.catalog.product_lists import (
    KnownProduct,
    ListedProduct,
    ProductFilter,
    ProductPage,
    known_products,
    list_products,
)
from storecrawl.catalog.product_records import (
    OptionThen,
    ProductRecord,
    Snapshot,
    VariantRecord,
    find_product,
    product_history,
    product_variants,
)
from storecrawl.catalog.reading import open_payload, read_menu
from storecrawl.catalog.refresh import RefreshReport, RefreshRules, apply_menu
from storecrawl.catalog.store_figures import StoreFigures, states, store_figures, store_names
from storecrawl.catalog.store_records import DiscoveredStore, read_store, read_stores
from storecrawl.catalog.stores import (
    DueStore,
    Store,
    StoreFilter,
    crawlable_stores,
    find_store,
    list_stores,
    require_crawlable,
    stores_due,
)
from storecrawl.catalog.views import refresh_stale_views, refresh_views

__all__ = [
    "BlockedStores",
    "Brand",
    "BrandOrder",
    "CatalogError",
    "CategoryFigures",
    "Changes",
    "DifferentPayload",
    "DiscoveredStore",
    "DueImage",
    "DueStore",
    "ExpirablePayload",
    "FieldChange",
    "ImplausibleMenu",
    "KeptImage",
    "KnownProduct",
    "ListedProduct",
    "LocationRefused",
    "MenuDiff",
    "NoPayload",
    "OptionThen",
    "Plausibility",
    "ProductChange",
    "ProductFilter",
    "ProductPage",
    "ProductRecord",
    "RefreshReport",
    "RefreshRules",
    "Retention",
    "Snapshot",
    "Store",
    "StoreFigures",
    "StoreFilter",
    "StoreOfBrand",
    "StoredPayload",
    "UnknownBrand",
    "UnknownImage",
    "UnknownLocation",
    "UnknownPayload",
    "UnknownProduct",
    "UnknownStore",
    "VariantRecord",
    "all_stores",
    "apply_menu",
    "begin_round",
    "block_store",
    "count_blocked_stores",
    "count_stores",
    "crawlable_stores",
    "diff_payloads",
    "due_images",
    "expirable_payloads",
    "find_brand",
    "find_image",
    "find_payload",
    "find_product",
    "find_store",
    "images_of_products",
    "in_batches",
    "keep_image",
    "known_products",
    "latest_payload",
    "list_brands",
    "list_payloads",
    "list_products",
    "list_stores",
    "mark_expired",
    "merge_statistics",
    "note_images",
    "nothing_lost",
    "open_payload",
    "payloads_to_compare",
    "product_history",
    "product_variants",
    "put_off_image",
    "read_menu",
    "read_store",
    "read_stores",
    "record_payload",
    "refresh_stale_views",
    "refresh_views",
    "require_crawlable",
    "states",
    "store_categories",
    "store_figures",
    "store_names",
    "stores_due",
    "stores_of_brand",
    "take_changes",
    "without_image",
    "without_row",
]
