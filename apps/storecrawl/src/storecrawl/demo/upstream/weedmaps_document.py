"""The JSON of Weedmaps: a listing, and a menu item that is priced by unit or by variants."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream.categories import Potency
from storecrawl.demo.upstream.clock import iso_text
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.pictures import picture_name
from storecrawl.demo.upstream.product_document import Listing, dollars
from storecrawl.demo.upstream.products import WorldProduct
from storecrawl.demo.upstream.stores import StoreKind, WorldStore, slugify

FIRST_LISTING = 300_000
FIRST_ITEM = 100_000_000
LICENSES = {StoreKind.MEDICAL: "medical", StoreKind.ADULT: "recreational", StoreKind.BOTH: "hybrid"}
PRICES = {
    "price_unit": 0,
    "price_half_gram": 0,
    "price_gram": 0,
    "price_two_grams": 0,
    "price_eighth": 0,
    "price_quarter": 0,
    "price_half_ounce": 0,
    "price_ounce": 0,
    "prices_other": {},
}
CATEGORIES = {
    "flower": ("Flower", "Flower"),
    "pre-rolls": ("Flower", "Pre Roll"),
    "vaporizers": ("Vape Pens", "Cartridge"),
    "concentrates": ("Concentrates", "Wax"),
    "tinctures": ("Tinctures", "Tinctures"),
    "topicals": ("Topicals", "Topicals"),
    "accessories": ("Gear", "Gear"),
    "apparel": ("Gear", "Apparel"),
}
EDIBLES = ("Edibles", "Gummies")

Document = dict[str, Any]


def listing_id(store: WorldStore) -> int:
    """Return the id of a store as a listing."""
    return FIRST_LISTING + store.number


def listing_document(store: WorldStore, root: str) -> Document:
    """Return a listing; `root` is the address of the platform's pages."""
    return {
        "id": store.number,
        "wmid": listing_id(store),
        "slug": store.slug,
        "name": store.name,
        "type": "dispensary",
        "address": store.street,
        "city": store.city.name,
        "state": store.city.state.code,
        "zip_code": store.zip_code,
        "country": "US",
        "latitude": store.latitude,
        "longitude": store.longitude,
        "timezone": store.city.state.timezone,
        "license_type": LICENSES[store.kind],
        "web_url": f"{root}/dispensaries/{store.slug}",
        "has_sale_items": False,
    }


def menu_item(listing: Listing) -> Document:
    """Return a menu item."""
    draw = Draw("weedmaps", listing.placement.id)
    category, subcategory = CATEGORIES.get(listing.product.category.key, EDIBLES)
    slug = slugify(listing.product.name).lower()
    return {
        "id": FIRST_ITEM + int(listing.placement.id[:8], 16),
        "type": "menu_item",
        "attributes": {
            "name": listing.product.name,
            "slug": slug,
            "category_name": category,
            "parent_category": {"name": category, "slug": slugify(category).lower()},
            "sub_category": {"name": subcategory, "slug": slugify(subcategory).lower()},
            "body": f"<p>{listing.product.description}</p>" if listing.product.description else "",
            "is_published": True,
            "online_orderable": True,
            "license_type": _license(listing),
            "brand_name": listing.product.brand.name if listing.product.brand else "",
            "genetics": _genetics(listing.product),
            **_images(listing),
            **_strength(listing.product, draw),
            **_prices(listing, draw),
            "grams_per_eighth": "3.5 grams",
            "created_at": iso_text(listing.placement.first_step),
            "updated_at": listing.day.updated_at,
            "external_id": draw.short_id()[:10],
            "sale": None,
            "sku": None,
            "shared_inventory": True,
        },
        "links": {"self": f"/dispensaries/{listing.day.store.slug}/menu/{slug}"},
        "relationships": {
            "brand": None,
            "listing": {"data": {"id": listing_id(listing.day.store), "type": "dispensary"}},
        },
    }


def _license(listing: Listing) -> str:
    if listing.placement.medical_only:
        return "medical"
    return "recreational" if listing.placement.adult_only else LICENSES[listing.day.store.kind]


def _genetics(product: WorldProduct) -> str | None:
    strain = product.strain_type.lower()
    return strain if strain in {"indica", "sativa", "hybrid"} else None


def _images(listing: Listing) -> Document:
    product = listing.product
    picture = picture_name(slugify(product.type_name).lower(), product.brand.number if product.brand else 0)
    address = f"{listing.day.images}/{picture}"
    return {"picture_url": address, "original_picture_url": address, "avatar_image_url": address}


def _strength(product: WorldProduct, draw: Draw) -> Document:
    unit = {Potency.PERCENT: "%", Potency.MILLIGRAMS: "mg"}.get(product.category.potency)
    if unit is None:
        return {"cannabinoids": {}, "measurements": []}
    value = f"{product.thc:g}"
    measurement = {
        "id": draw.integer(10**9, 2 * 10**9),
        "classification": "cannabinoid",
        "full_name": "Tetrahydrocannabinol",
        "name": "THC",
        "unit": unit,
        "value": value,
    }
    return {"cannabinoids": {"thc": value}, "measurements": [measurement]}


def _prices(listing: Listing, draw: Draw) -> Document:
    offer = listing.offer
    stock = offer.stock or (None,) * len(offer.options)
    if len(offer.options) == 1:
        prices = PRICES | {"price_unit": dollars(offer.prices[0])}
        return {"prices": prices, "variants": [], "inventory_quantity": stock[0]}
    variants = [
        {
            **_size(option),
            "price": {"amount": f"{cents / 100:.2f}", "currency": "USD"},
            "external_id": draw.short_id()[:10],
            "inventory_quantity": left,
        }
        for option, cents, left in zip(offer.options, offer.prices, stock, strict=True)
    ]
    return {"prices": PRICES, "variants": variants, "inventory_quantity": None}


def _size(option: str) -> Document:
    number = option.removesuffix("g")
    is_weight = number.replace(".", "", 1).isdecimal()
    return {
        "name": None if is_weight else option,
        "weight": {"value": number, "unit": "g"} if is_weight else None,
    }
