"""The JSON of a product: one element of `filteredProducts.products`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from storecrawl.demo.upstream.campaigns import Campaign
from storecrawl.demo.upstream.clock import STEP_MILLISECONDS, epoch_text
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.pictures import picture_name
from storecrawl.demo.upstream.pos_document import pos_document
from storecrawl.demo.upstream.potency_document import potency_document
from storecrawl.demo.upstream.products import Shelf, WorldProduct
from storecrawl.demo.upstream.shelf_life import Offer, Placement
from storecrawl.demo.upstream.stores import StockSource, WorldStore, slugify

IMAGES = "https://images.storecrawl.test"
TAX_FACTOR = 1.2

Document = dict[str, Any]


class StoreDay(msgspec.Struct, frozen=True, kw_only=True):
    """Values that all products of a store share at a step."""

    seed: int
    store: WorldStore
    step: int
    updated_at: str
    shelf: Shelf
    campaigns: tuple[Campaign, ...]
    images: str = IMAGES


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a product document: the product, its store, and its offer."""

    day: StoreDay
    product: WorldProduct
    placement: Placement
    offer: Offer

    @property
    def status(self) -> str:
        return "Inactive" if self.placement.is_inactive else "Active"


def product_document(listing: Listing) -> Document:
    """Return a product's document."""
    draw = Draw(listing.day.seed, "document", listing.placement.id)
    return {
        **_identity(listing, draw),
        **_brand(listing.product),
        **_class(listing.product, draw),
        **_prices(listing),
        **_specials(listing),
        **potency_document(listing.product, draw),
        **_stock(listing, draw),
        "POSMetaData": pos_document(listing.day.store, listing.product, listing.offer, draw),
        **_flags(listing, draw),
        **_images(listing.product, listing.day.images),
        "__typename": "Products",
    }


def _identity(listing: Listing, draw: Draw) -> Document:
    name = listing.product.name
    slug = slugify(name).lower()
    created_at = epoch_text(listing.placement.first_step, draw.integer(0, STEP_MILLISECONDS - 1))
    return {
        "_id": listing.placement.id,
        "id": listing.placement.id,
        "DispensaryID": listing.day.store.id,
        "enterpriseProductId": listing.product.enterprise_id,
        "cName": slug,
        "pastCNames": draw.pick(([], [None, slug], [None, slug.split("-")[0], slug])),
        "Name": name,
        "Status": listing.status,
        "createdAt": created_at,
        "updatedAt": listing.day.updated_at,
    }


def _brand(product: WorldProduct) -> Document:
    brand = product.brand
    if brand is None:
        return {"brand": None, "brandId": None, "brandName": None, "brandLogo": None}
    image = f"{IMAGES}/{brand.image}"
    return {
        "brand": {
            "id": brand.id,
            "_id": brand.id,
            "name": brand.name,
            "description": brand.description,
            "imageUrl": image,
            "__typename": "Brand",
        },
        "brandId": brand.id,
        "brandName": brand.name,
        "brandLogo": image,
    }


def _class(product: WorldProduct, draw: Draw) -> Document:
    return {
        "type": product.type_name,
        "subcategory": product.subcategory,
        "strainType": product.strain_type,
        "description": product.description,
        "weight": draw.integer(1, 15),
        "popularSortKey": round(draw.share(), 6),
        "measurements": _measurements(draw) if draw.chance(0.05) else None,
    }


def _measurements(draw: Draw) -> Document:
    values = [draw.pick((500, 1000, 3500))]
    weight = {"unit": "MILLIGRAMS", "values": values, "__typename": "NetWeight"}
    return {"netWeight": weight, "volume": None, "__typename": "Measurements"}


def _prices(listing: Listing) -> Document:
    offer = listing.offer
    regular = [dollars(price) for price in offer.prices]
    special = [dollars(price) for price in offer.special_prices]
    return {
        "Options": list(offer.options),
        "rawOptions": [],
        "AdditionalOptions": [],
        "Prices": regular,
        "recPrices": regular,
        "medicalPrices": _medical(listing, offer.prices),
        "recSpecialPrices": special,
        "medicalSpecialPrices": _medical(listing, offer.special_prices),
        "wholesalePrices": None,
        "pricingTierData": None,
    }


def _medical(listing: Listing, prices: Sequence[int]) -> list[float | int]:
    """Return the prices for patients; 0 for products that are not for them."""
    if listing.placement.adult_only:
        return [0] * len(prices)
    factor = TAX_FACTOR if listing.day.store.habits.medical_untaxed else 1.0
    return [dollars(round(price / factor)) for price in prices]


def dollars(cents: int) -> float | int:
    """Return an amount like the upstream: as an integer if it is one."""
    return cents / 100 if cents % 100 else cents // 100


def _specials(listing: Listing) -> Document:
    campaigns = listing.offer.campaigns
    if not campaigns:
        return {"special": None, "specialData": None}
    sales = [_special(campaign) for campaign in campaigns if not campaign.is_bundle]
    bundles = [_special(campaign) for campaign in campaigns if campaign.is_bundle]
    return {
        "special": True,
        "specialData": {
            "saleSpecials": sales,
            "bogoSpecials": bundles or None,
            "__typename": "Products_specialData",
        },
    }


def _special(campaign: Campaign) -> Document:
    return {
        "specialId": campaign.id,
        "specialName": campaign.name,
        "specialType": "bogo" if campaign.is_bundle else "sale",
        "discount": 0 if campaign.is_bundle else campaign.percent,
        "percentDiscount": not campaign.is_bundle,
        "dollarDiscount": False,
        "targetPrice": False,
        "menuType": "both",
        "discountStacking": False,
        "stackingBehavior": "cumulative",
        "nonStackingBehavior": "favorCustomer",
        "source": None,
        "specialRestrictions": {campaign.category: {"discountType": "percentDiscount"}},
        "__typename": "Products_specialData_special",
    }


def _stock(listing: Listing, draw: Draw) -> Document:
    offer, below = listing.offer, listing.offer.below_threshold
    nearly_out = [option for option, is_below in zip(offer.options, below, strict=True) if is_below]
    return {
        "manualInventory": _manual_inventory(listing),
        "isBelowThreshold": True if all(below) else None,
        "isBelowKioskThreshold": None,
        "optionsBelowThreshold": nearly_out,
        "optionsBelowKioskThreshold": [],
        "limitsPerCustomer": [{"key": "1", "value": "5", "__typename": "Limit"}] if draw.chance(0.03) else None,
    }


def _manual_inventory(listing: Listing) -> list[Document]:
    offer = listing.offer
    if listing.day.store.habits.stock_source is not StockSource.MANUAL or offer.stock is None:
        return []
    return [
        {"option": option, "inventory": left, "__typename": "Products_manualInventory"}
        for option, left in zip(offer.options, offer.stock, strict=True)
    ]


def _flags(listing: Listing, draw: Draw) -> Document:
    since = epoch_text(listing.placement.first_step)
    featured = {"current": True, "startTime": since, "endTime": None, "__typename": "Products_featured"}
    return {
        "medicalOnly": listing.placement.medical_only,
        "recOnly": listing.placement.adult_only,
        "comingSoon": None,
        "featured": featured if draw.chance(0.05) else None,
        "vapeTaxApplicable": None,
        "nonArmsLength": None,
        "bottleDepositTaxCents": None,
        "collectionCardBadge": {"title": "Staff pick", "__typename": "Badge"} if draw.chance(0.02) else None,
        "certificateOfAnalysisEnabled": False,
    }


def _images(product: WorldProduct, at: str) -> Document:
    url = f"{at}/{picture_name(slugify(product.type_name).lower(), product.brand.number if product.brand else 0)}"
    image = {"url": url, "description": "", "active": True, "__typename": "Products_Images"}
    return {"Image": url, "images": [image]}
