-- Make stores of verified locations; a store that exists already is adopted.
-- returns: id of each store and whether it is new
with promoted as (
    insert into storecrawl.stores as store (
        platform_store_id, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, first_seen_at, last_seen_at
    )
    select
        platform_store_id, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, first_seen_at, last_seen_at
    from storecrawl.locations
    where id = any(%(ids)s)
    order by platform_store_id
    on conflict (platform_store_id) do update
    set last_seen_at = greatest(store.last_seen_at, excluded.last_seen_at)
    returning store.id, store.platform_store_id, (xmax = 0) as is_new
),
linked as (
    update storecrawl.locations as location
    set status = 'verified',
        store_id = promoted.id,
        promoted_at = clock_timestamp(),
        needs_investigation = false
    from promoted
    where location.platform_store_id = promoted.platform_store_id
)
select id, is_new
from promoted
order by id
