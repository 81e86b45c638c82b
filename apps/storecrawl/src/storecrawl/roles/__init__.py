"""The roles of the crawl, one file a role; `payload_fetch` holds three that fetch a menu, `crawler` what all share.

    store_discovery -> (promotion) -> product_discovery -> product_refresh      a new store
    payload_fetch_all -> payload_fetch -> product_refresh                       every four hours
    product_resync -> product_refresh                                           generated for a day, or on demand
    entry_point_discovery                                                       on demand
    image_fetch                                                                 after a refresh, where images are wanted
    analytics_refresh                                                           every six hours
    storage_upkeep: orphan_sweep, payload_expiry                                every day

A task that touches a store carries the store's key, so that no two of one store run at once. Whatever a role leaves
behind in the database commits together with its follow-ups and its own completion.
"""
