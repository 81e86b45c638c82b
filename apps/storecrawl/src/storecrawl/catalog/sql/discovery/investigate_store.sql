-- Say of the id that a store goes by that somebody should look into it; who was rejected stays so.
-- returns: id of the location
insert into storecrawl.locations as known (
    platform_store_id, status, because, decided_by, decided_at, store_id, promoted_at, name, slug, chain, address, city,
    state, postal_code, country, latitude, longitude, timezone, menu_url, recreational, medical, first_seen_at,
    last_seen_at
)
select
    platform_store_id, 'needs_investigation', %(because)s, %(by)s, clock_timestamp(), id, clock_timestamp(), name, slug,
    chain, address, city, state, postal_code, country, latitude, longitude, timezone, menu_url, recreational, medical,
    first_seen_at, last_seen_at
from storecrawl.stores
where id = %(store_id)s
    and platform_store_id is not null
on conflict (platform_store_id) do update
set status = 'needs_investigation',
    because = excluded.because,
    decided_by = excluded.decided_by,
    decided_at = excluded.decided_at,
    store_id = coalesce(known.store_id, excluded.store_id),
    promoted_at = coalesce(known.promoted_at, excluded.promoted_at)
where known.status <> 'rejected'
returning id
