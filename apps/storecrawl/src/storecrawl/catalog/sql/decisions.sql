-- name: lock_location
-- returns: the location's status, platform id, name and store
-- locks: its row
select id, platform, platform_store_id, status::text, name, store_id
from storecrawl.locations
where id = %(location_id)s
for update


-- name: store_by_platform_id
-- returns: id of the store that is crawled by this platform id
select id
from storecrawl.stores
where platform = %(platform)s
    and platform_store_id = %(platform_store_id)s


-- name: decide_location
-- Set the status that a person decided on.
update storecrawl.locations
set status = %(status)s::storecrawl.location_status,
    because = %(because)s,
    rejected_by_person = %(status)s = 'rejected',
    decided_by = %(by)s,
    decided_at = clock_timestamp()
where id = %(location_id)s


-- name: link_location
-- Link a location to an existing store.
update storecrawl.locations
set status = 'linked',
    store_id = %(store_id)s,
    promoted_at = clock_timestamp(),
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
where id = %(location_id)s


-- name: take_platform_id
-- Crawl a store by the id of a location if it has none, or one that the platform no longer knows.
update storecrawl.stores as store
set platform = %(platform)s,
    platform_store_id = %(platform_store_id)s,
    same_id_finds = 0
where store.id = %(store_id)s
    and %(platform_store_id)s::text is not null
    and (
        store.platform_store_id is null
        or exists (
            select
            from storecrawl.locations as known
            where known.platform = store.platform
                and known.platform_store_id = store.platform_store_id
                and known.status = 'needs_investigation'
        )
    )


-- name: settle_old_ids
-- Settle the locations of a store that needed investigation and whose id it no longer uses.
update storecrawl.locations as location
set status = 'linked',
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
from storecrawl.stores as store
where store.id = %(store_id)s
    and location.store_id = store.id
    and location.status = 'needs_investigation'
    and (location.platform, location.platform_store_id)
        is distinct from (store.platform, store.platform_store_id)
