-- name: investigate_store
-- Mark the platform id of a store as needing investigation, unless its location was rejected.
-- returns: id of the location
insert into storecrawl.locations as known (
    platform, platform_store_id, endpoint, status, because, decided_by, decided_at, store_id, promoted_at, name, slug,
    chain, address, city, state, postal_code, country, latitude, longitude, timezone, menu_url, recreational, medical,
    first_seen_at, last_seen_at
)
select
    platform, platform_store_id, endpoint, 'needs_investigation', %(because)s, %(by)s, clock_timestamp(), id,
    clock_timestamp(), name, slug, chain, address, city, state, postal_code, country, latitude, longitude, timezone, menu_url, recreational, medical,
    first_seen_at, last_seen_at
from storecrawl.stores
where id = %(store_id)s
    and platform is not null
    and platform_store_id is not null
on conflict (platform, platform_store_id) do update
set status = 'needs_investigation',
    because = excluded.because,
    decided_by = excluded.decided_by,
    decided_at = excluded.decided_at,
    store_id = coalesce(known.store_id, excluded.store_id),
    promoted_at = coalesce(known.promoted_at, excluded.promoted_at)
where known.status <> 'rejected'
returning id


-- name: investigate_entry
-- Record an entry point that leads nowhere, for investigation; earlier decisions about it stay.
-- returns: id of the location
insert into storecrawl.locations as known (platform, entry, status, because, decided_by, decided_at)
values (%(platform)s, %(entry)s, 'needs_investigation', %(because)s, %(by)s, clock_timestamp())
on conflict (platform, entry) do update
set because = excluded.because,
    decided_by = excluded.decided_by,
    decided_at = excluded.decided_at,
    last_seen_at = clock_timestamp()
where known.status = 'needs_investigation'
returning id


-- name: settle_entry
-- Settle an entry point that led nowhere and has now led to a store.
update storecrawl.locations as entry
set status = 'linked',
    store_id = found.store_id,
    promoted_at = clock_timestamp(),
    because = 'location ' || found.id || ' is what it leads to',
    decided_by = %(by)s,
    decided_at = clock_timestamp()
from storecrawl.locations as found
where entry.platform = %(platform)s
    and entry.entry = %(entry)s
    and entry.status = 'needs_investigation'
    and found.platform = %(platform)s
    and found.platform_store_id = %(platform_store_id)s
    and found.store_id is not null
