-- Let a store be crawled by the id of a location, where it has none or one that the platform no longer knows.
update storecrawl.stores as store
set platform_store_id = %(platform_store_id)s
where store.id = %(store_id)s
    and %(platform_store_id)s::text is not null
    and (
        store.platform_store_id is null
        or exists (
            select
            from storecrawl.locations as known
            where known.platform_store_id = store.platform_store_id
                and known.status = 'needs_investigation'
        )
    )
