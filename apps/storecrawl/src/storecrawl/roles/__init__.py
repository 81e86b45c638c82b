"""The roles of the crawl, one file per role. `payload_fetch` has three that fetch a menu, `crawler` the shared code.

    store_discovery -> (promotion) -> product_discovery -> product_refresh      a new store
    payload_fetch_all -> payload_fetch -> product_refresh                       every four hours
    product_resync -> product_refresh                                           generated for a day, or on demand
    entry_point_discovery                                                       on demand
    image_fetch                                                                 after a refresh, if images are enabled
    analytics_refresh                                                           every six hours
    renormalize: renormalize_store ...                                          on demand
    storage_upkeep: orphan_sweep, payload_expiry, history_upkeep, change_expiry every day
    lake: lake_update -> write_lake_day                                         every six hours, if the lake is enabled
    webhooks: post_changes after a round of statistics, watch_quality           every five minutes

A task about a store has the store's key, so that no two of one store run at once. The rows that a task
writes commit together with its follow-ups and its completion.
"""
