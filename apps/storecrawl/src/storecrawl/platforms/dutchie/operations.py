"""The client's GraphQL operations: their texts and persisted-query hashes.

A request first names its operation by a hash. Hashes rotate, so they are configured. If none is
configured or known to the upstream, the hash of our own text is used.
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
    """A GraphQL operation: its name, its text, and the field of `data` with its result."""

    name: str
    root: str
    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
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
    """The hashes that the upstream may know, for each operation the likeliest first."""

    def __init__(self, configured: Mapping[str, tuple[str, ...]]) -> None:
        self._candidates = {
            operation.name: (*configured.get(operation.name, ()), operation.digest) for operation in OPERATIONS
        }

    def candidates(self, operation: Operation) -> tuple[str, ...]:
        return self._candidates[operation.name]

    def prefer(self, operation: Operation, digest: str) -> None:
        """Try this hash first from now on."""
        others = (other for other in self._candidates[operation.name] if other != digest)
        self._candidates[operation.name] = (digest, *others)
