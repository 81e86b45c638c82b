"""The operations that the client sends: their texts, and the hashes that stand for them.

A request names its operation by a hash first. Hashes rotate, so they come from configuration;
where none is configured, or the configured one is no longer known, the hash of our own text takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

_STORE_FRAGMENT = """
fragment storeFields on Dispensary {
  __typename
  id name cName chain chainName status
  address fullName
  location {
    __typename
    ln1 ln2 city state zipcode country
    geometry { __typename coordinates }
  }
  timezone distance phone email
  medicalDispensary recDispensary medicalOnly tier activeCategories
  hasMenuIntegration
  menuIntegration { __typename live adapter lastSyncAt }
  salesTax
  offerDelivery offerCurbsidePickup offerDriveThruPickup orderTypesConfig enabledOrderTypes
  deliveryInfo { __typename withinBounds fee minimum feeType }
  deliveryHours hoursSettings specialHours
  embeddedMenuUrl embedBackUrl menuUrl logoImage bannerImage listImage googleAnalyticsID
  createdAt updatedAt
}
"""


@dataclass(frozen=True, slots=True)
class Operation:
    """A GraphQL operation: its name, its text, and the field of `data` that holds its answer."""

    name: str
    root: str
    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the hash of the text."""
        object.__setattr__(self, "digest", sha256(self.text.encode()).hexdigest())


STORES = Operation(
    "ConsumerDispensaries",
    "filteredDispensaries",
    """query ConsumerDispensaries($dispensaryFilter: DispensaryFilter!) {
  filteredDispensaries(filter: $dispensaryFilter) { ...storeFields }
}
"""
    + _STORE_FRAGMENT,
)

STORE_SEARCH = Operation(
    "DispensarySearch",
    "dispensarySearch",
    """query DispensarySearch($searchTerm: String!, $limit: Int) {
  dispensarySearch(searchTerm: $searchTerm, limit: $limit) {
    __typename
    results { ...storeFields }
  }
}
"""
    + _STORE_FRAGMENT,
)

CITIES = Operation(
    "getAllCitiesByState",
    "getAllCitiesByState",
    """query getAllCitiesByState($state: String!) {
  getAllCitiesByState(state: $state) {
    __typename
    name slug state country dispensaryCount
    geometry { __typename coordinates }
  }
}
""",
)

PRODUCTS = Operation(
    "FilteredProducts",
    "filteredProducts",
    """query FilteredProducts(
  $productsFilter: ProductsFilter!
  $page: Int
  $perPage: Int
  $includeEnterpriseSpecials: Boolean = false
) {
  filteredProducts(
    filter: $productsFilter
    page: $page
    perPage: $perPage
    includeEnterpriseSpecials: $includeEnterpriseSpecials
  ) {
    __typename
    products { ...productFields }
    queryInfo { __typename totalCount totalPages }
  }
}

fragment productFields on Products {
  __typename
  _id id DispensaryID enterpriseProductId cName pastCNames Name Status createdAt updatedAt
  brand { __typename id _id name description imageUrl }
  brandId brandName brandLogo
  type subcategory strainType description weight popularSortKey
  measurements {
    __typename
    netWeight { __typename unit values }
    volume { __typename unit values }
  }
  Options rawOptions AdditionalOptions
  Prices recPrices medicalPrices recSpecialPrices medicalSpecialPrices wholesalePrices pricingTierData
  special
  specialData {
    __typename
    saleSpecials { ...specialFields }
    bogoSpecials { ...specialFields }
  }
  THC CBD
  THCContent { __typename unit range }
  CBDContent { __typename unit range }
  cannabinoidsV2 { __typename value unit cannabinoid { __typename name } }
  terpenes { __typename id name value unit }
  totalTerpenes effects
  manualInventory { __typename option inventory }
  isBelowThreshold isBelowKioskThreshold optionsBelowThreshold optionsBelowKioskThreshold
  limitsPerCustomer { __typename key value }
  POSMetaData { ...posFields }
  medicalOnly recOnly comingSoon
  featured { __typename current startTime endTime }
  vapeTaxApplicable nonArmsLength bottleDepositTaxCents
  collectionCardBadge { __typename title }
  certificateOfAnalysisEnabled
  Image
  images { __typename url description active }
}

fragment specialFields on Products_specialData_special {
  __typename
  specialId specialName specialType discount percentDiscount dollarDiscount targetPrice menuType
  discountStacking stackingBehavior nonStackingBehavior source specialRestrictions
}

fragment posFields on POSMetaData {
  __typename
  canonicalID canonicalSKU canonicalName canonicalBrandName canonicalBrandId canonicalCategory
  canonicalImgUrl canonicalPackageId
  children {
    __typename
    option price medPrice recPrice quantity quantityAvailable kioskQuantityAvailable
    canonicalID canonicalSKU canonicalName canonicalBrandName canonicalCategory canonicalEffectivePotencyMg
    standardEquivalent { __typename value unit }
    recEquivalent { __typename value unit }
  }
}
""",
)

OPERATIONS = (STORES, STORE_SEARCH, CITIES, PRODUCTS)


class Hashes:
    """The hashes that may be known upstream, for each operation the likeliest first."""

    def __init__(self, configured: Mapping[str, tuple[str, ...]]) -> None:
        self._candidates = {
            operation.name: (*configured.get(operation.name, ()), operation.digest) for operation in OPERATIONS
        }

    def candidates(self, operation: Operation) -> tuple[str, ...]:
        """Return the hashes to try in turn."""
        return self._candidates[operation.name]

    def prefer(self, operation: Operation, digest: str) -> None:
        """Put the hash first that was just understood."""
        others = (other for other in self._candidates[operation.name] if other != digest)
        self._candidates[operation.name] = (digest, *others)
