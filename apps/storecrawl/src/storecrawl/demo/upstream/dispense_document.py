"""The JSON of Dispense: a venue, and a product with one variant per size."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream import words
from storecrawl.demo.upstream.categories import Potency
from storecrawl.demo.upstream.clock import iso_text
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.pictures import picture_name
from storecrawl.demo.upstream.product_document import Listing, dollars
from storecrawl.demo.upstream.stores import StoreKind, WorldStore, owner_of, slugify

ID_DIGITS = 16
TAX = 1.0875
COMPLIANCE_TYPES = {
    "flower": "FLOWER",
    "pre-rolls": "PRE_ROLLS",
    "vaporizers": "VAPORIZERS",
    "concentrates": "CONCENTRATES",
    "tinctures": "TINCTURES",
    "topicals": "TOPICALS",
    "accessories": "ACCESSORIES",
    "apparel": "MERCHANDISE",
}
STRAINS = {"Hybrid": "HYBRID", "Indica": "INDICA", "Sativa": "SATIVA"}
TERPENES = ("alphaPinene", "betaCaryophyllene", "betaMyrcene", "humulene", "limonene", "linalool")

Document = dict[str, Any]


def venue_id(store: WorldStore) -> str:
    """Return the id of a store as a venue."""
    return Draw("venue", store.number).object_id()[:ID_DIGITS]


def organization_id(store: WorldStore) -> str:
    """Return the id of the organization that a store belongs to: its chain, or its own."""
    return Draw("organization", owner_of(store.number, store.chain)).object_id()[:ID_DIGITS]


def venue_document(store: WorldStore) -> Document:
    """Return a venue."""
    return {
        "id": venue_id(store),
        "name": store.name,
        "slug": store.slug,
        "medicalDispensary": store.kind is StoreKind.MEDICAL,
        "organization": organization_id(store),
        "address": {
            "street": store.street,
            "city": store.city.name,
            "administrativeArea": store.city.state.code,
            "country": "US",
            "postalCode": store.zip_code,
            "latitude": store.latitude,
            "longitude": store.longitude,
        },
        "addressFormatted": f"{store.street}, {store.city.name}, {store.city.state.code} {store.zip_code}",
        "schedule": [],
    }


def dispense_product(listing: Listing) -> Document:
    """Return a product: the members of its first size, and all sizes as variants."""
    sizes = [_size(listing, place) for place in range(len(listing.offer.options))]
    return {**sizes[0], "totalSold": Draw("sold", listing.placement.id).integer(0, 900), "variants": sizes}


def _size(listing: Listing, place: int) -> Document:
    product, placement, draw = listing.product, listing.placement, Draw("dispense", listing.placement.id, place)
    name = f"{listing.day.images}/{picture_name(slugify(product.type_name).lower(), 0)}"
    return {
        "id": placement.id[:ID_DIGITS] if place == 0 else draw.object_id()[:ID_DIGITS],
        "name": product.name,
        "slug": slugify(product.name).lower(),
        "description": product.description.replace(". ", ".<br />") or None,
        "venue": venue_id(listing.day.store),
        "organization": organization_id(listing.day.store),
        "productCategory": Draw("category", product.category.key).object_id()[:ID_DIGITS],
        "productCategoryName": product.category.plural,
        "cannabisComplianceType": COMPLIANCE_TYPES.get(product.category.key, "EDIBLES"),
        "subType": product.subcategory,
        "cannabisType": STRAINS.get(product.strain_type, "NA"),
        "brand": _brand(listing),
        "image": name,
        "images": [{"fileUrl": name, "originalFileUrl": name, "order": 1}],
        "sku": f"{draw.integer(10**7, 10**8 - 1)}",
        "posProductId": f"{draw.integer(10**6, 10**7 - 1)}",
        "effects": None,
        "terpenes": [],
        "labs": _labs(listing),
        "enable": True,
        "deleted": False,
        "created": iso_text(placement.first_step),
        "modified": listing.day.updated_at,
        "variants": [],
        **_weight(listing.offer.options[place]),
        **_prices(listing, place),
        **_stock(listing, place),
    }


def _brand(listing: Listing) -> Document:
    brand = listing.product.brand
    return (
        {"name": None}
        if brand is None
        else {"id": brand.id.replace("-", "")[:ID_DIGITS], "name": brand.name, "logo": None}
    )


def _weight(option: str) -> Document:
    is_sized = option != "N/A"
    return {"size": None, "weightFormatted": option if is_sized else ""}


def _prices(listing: Listing, place: int) -> Document:
    offer = listing.offer
    price, final = offer.prices[place], (offer.special_prices or offer.prices)[place]
    sales = [campaign for campaign in offer.campaigns if not campaign.is_bundle]
    return {
        "price": dollars(price),
        "priceWithDiscounts": dollars(final),
        "priceGross": round(price * TAX / 100, 2),
        "priceNet": round(final * TAX / 100, 2),
        "priceType": "REGULAR",
        "discountAmountFinal": dollars(price - final),
        "discounts": [
            {
                "productOffer": sale.id[:ID_DIGITS],
                "productOfferType": "SALE",
                "value": sale.percent / 100,
                "type": "PERCENT",
            }
            for sale in sales
        ],
    }


def _stock(listing: Listing, place: int) -> Document:
    stock = listing.offer.stock
    return {
        "quantity": None if stock is None else stock[place],
        "quantityTotal": None if stock is None else stock[place],
        "quantityThreshold": listing.day.store.habits.below_threshold,
        "isBelowQuantityThreshold": listing.offer.below_threshold[place],
    }


def _labs(listing: Listing) -> Document:
    """Return figures of a laboratory, with 0 for unmeasured compounds, as the platform writes them."""
    product, draw = listing.product, Draw("labs", listing.placement.id)
    unit = {Potency.PERCENT: "%", Potency.MILLIGRAMS: "mg"}.get(product.category.potency)
    thc = product.thc if unit else 0
    measured = frozenset(draw.pick(TERPENES) for _ in range(2)) if unit == "%" and draw.chance(0.3) else frozenset()
    terpenes = {name: round(draw.real(0.1, 2.0), 2) if name in measured else 0 for name in TERPENES}
    units = {f"{name}ContentUnit": "%" if name in measured else None for name in TERPENES}
    return {
        "terpenes": [name.lower() for name in words.TERPENES[:2]] if draw.chance(0.1) else [],
        **terpenes,
        **units,
        "thc": thc,
        "thcMax": thc,
        "thcContentUnit": unit,
        "cbd": 0,
        "cbdMax": 0,
        "cbdContentUnit": unit,
        "cbg": round(draw.real(0.01, 1.2), 2) if unit else 0,
        "cbgContentUnit": unit,
    }
