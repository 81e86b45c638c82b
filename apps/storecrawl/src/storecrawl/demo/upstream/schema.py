"""The GraphQL schema of the local upstream."""

from __future__ import annotations

from graphql import GraphQLSchema, build_schema

PRODUCT_TYPE = "Products"

_QUERY_SDL = """
scalar JSON

type Query {
  filteredDispensaries(filter: DispensaryFilter!): [Dispensary!]!
  getAllCitiesByState(state: String!): [City!]!
  dispensarySearch(searchTerm: String!, limit: Int = 10): DispensarySearchResults!
  filteredProducts(
    filter: ProductsFilter!
    page: Int = 0
    perPage: Int = 50
    includeEnterpriseSpecials: Boolean = false
  ): FilteredProducts
}

input DispensaryFilter {
  cNameOrID: String
  city: String
  state: String
  nearLat: Float
  nearLng: Float
  distance: Float
  medical: Boolean
  recreational: Boolean
  activeOnly: Boolean
}

input ProductsFilter {
  dispensaryId: String!
  pricingType: String
  strainTypes: [String!]
  subcategories: [String!]
  types: [String!]
  productIds: [String!]
  Status: String
  useCache: Boolean
  isDefaultSort: Boolean
  sortBy: String
  sortDirection: Int
  bypassOnlineThresholds: Boolean
  isKioskMenu: Boolean
  removeProductsBelowOptionThresholds: Boolean
  platformType: String
  preOrderType: String
}

type FilteredProducts { products: [Products!]! queryInfo: queryInfoType! }
type queryInfoType { totalCount: Int! totalPages: Int! }
type DispensarySearchResults { results: [Dispensary!]! }
"""

_STORE_SDL = """
type City {
  name: String!
  slug: String!
  state: String!
  country: String
  dispensaryCount: Int!
  geometry: Geometry
}

type Geometry { coordinates: [Float!] }

type Location {
  ln1: String
  ln2: String
  city: String
  state: String
  zipcode: String
  country: String
  geometry: Geometry
}

type MenuIntegration { live: Boolean adapter: String lastSyncAt: String }
type DeliveryInfo { withinBounds: Boolean fee: Float minimum: Float feeType: String }

type Dispensary {
  id: ID!
  name: String!
  cName: String!
  chain: String
  chainName: String
  status: String
  address: String
  fullName: String
  location: Location
  timezone: String
  distance: Float
  phone: String
  email: String
  medicalDispensary: Boolean
  recDispensary: Boolean
  medicalOnly: Boolean
  tier: Int
  activeCategories: [String!]
  hasMenuIntegration: Boolean
  menuIntegration: MenuIntegration
  salesTax: Float
  offerDelivery: Boolean
  offerCurbsidePickup: Boolean
  offerDriveThruPickup: Boolean
  orderTypesConfig: JSON
  enabledOrderTypes: [String!]
  deliveryInfo: DeliveryInfo
  deliveryHours: JSON
  hoursSettings: JSON
  specialHours: JSON
  embeddedMenuUrl: String
  embedBackUrl: String
  menuUrl: String
  logoImage: String
  bannerImage: String
  listImage: String
  googleAnalyticsID: String
  createdAt: String
  updatedAt: String
}
"""

_PRODUCT_SDL = """
type Products {
  _id: ID!
  id: ID!
  DispensaryID: ID
  enterpriseProductId: ID
  cName: String
  pastCNames: [String]
  Name: String
  Status: String
  createdAt: String
  updatedAt: String
  brand: Brand
  brandId: ID
  brandName: String
  brandLogo: String
  type: String
  subcategory: String
  strainType: String
  description: String
  weight: Float
  popularSortKey: Float
  measurements: Measurements
  Options: [String!]
  rawOptions: [String!]
  AdditionalOptions: [String!]
  Prices: [Float]
  recPrices: [Float]
  medicalPrices: [Float]
  recSpecialPrices: [Float]
  medicalSpecialPrices: [Float]
  wholesalePrices: [Float]
  pricingTierData: JSON
  special: Boolean
  specialData: Products_specialData
  THC: JSON
  CBD: JSON
  THCContent: ProductPotency
  CBDContent: ProductPotency
  cannabinoidsV2: [Products_CannabinoidV2!]
  terpenes: [Terpene!]
  totalTerpenes: Float
  effects: JSON
  manualInventory: [Products_manualInventory!]
  isBelowThreshold: Boolean
  isBelowKioskThreshold: Boolean
  optionsBelowThreshold: [String!]
  optionsBelowKioskThreshold: [String!]
  limitsPerCustomer: [Limit!]
  POSMetaData: POSMetaData
  medicalOnly: Boolean
  recOnly: Boolean
  comingSoon: Boolean
  featured: Products_featured
  vapeTaxApplicable: Boolean
  nonArmsLength: Boolean
  bottleDepositTaxCents: Int
  collectionCardBadge: Badge
  certificateOfAnalysisEnabled: Boolean
  Image: String
  images: [Products_Images!]
}

type Brand { id: ID _id: ID name: String description: String imageUrl: String }
type Measurements { netWeight: NetWeight volume: NetWeight }
type NetWeight { unit: String values: [Float!] }
type ProductPotency { unit: String range: [Float] }
type Cannabinoid { name: String }
type Products_CannabinoidV2 { value: Float unit: String cannabinoid: Cannabinoid }
type Terpene { id: ID name: String value: Float unit: String }
type Products_manualInventory { option: String inventory: Int }
type Limit { key: String value: String }
type Products_featured { current: Boolean startTime: String endTime: String }
type Badge { title: String }
type Products_Images { url: String description: String active: Boolean }

type Products_specialData {
  saleSpecials: [Products_specialData_special!]
  bogoSpecials: [Products_specialData_special!]
}

type Products_specialData_special {
  specialId: ID
  specialName: String
  specialType: String
  discount: Float
  percentDiscount: Boolean
  dollarDiscount: Boolean
  targetPrice: Boolean
  menuType: String
  discountStacking: Boolean
  stackingBehavior: String
  nonStackingBehavior: String
  source: String
  specialRestrictions: JSON
}

type Equivalent { value: Float unit: String }

type POSMetaData {
  canonicalID: String
  canonicalSKU: String
  canonicalName: String
  canonicalBrandName: String
  canonicalBrandId: String
  canonicalCategory: String
  canonicalImgUrl: String
  canonicalPackageId: String
  children: [POSMetaData_Child!]
}

type POSMetaData_Child {
  option: String
  price: Float
  medPrice: Float
  recPrice: Float
  quantity: Float
  quantityAvailable: Float
  kioskQuantityAvailable: Float
  canonicalID: String
  canonicalSKU: String
  canonicalName: String
  canonicalBrandName: String
  canonicalCategory: String
  canonicalEffectivePotencyMg: Float
  standardEquivalent: Equivalent
  recEquivalent: Equivalent
}
"""


def make_schema() -> GraphQLSchema:
    """Return the schema by which requests are validated and executed."""
    return build_schema(_QUERY_SDL + _STORE_SDL + _PRODUCT_SDL)
