-- Make stores of locations; a store that has the platform's id already is linked.
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
        and status in ('discovered', 'needs_investigation')
        and store_id is null
    order by platform_store_id
    on conflict (platform_store_id) do update
    set last_seen_at = greatest(store.last_seen_at, excluded.last_seen_at)
    returning store.id, store.platform_store_id, (xmax = 0) as is_new
),
linked as (
    update storecrawl.locations as location
    set status = case when promoted.is_new then 'verified' else 'linked' end::storecrawl.location_status,
        store_id = promoted.id,
        promoted_at = clock_timestamp(),
        because = %(because)s,
        decided_by = %(by)s,
        decided_at = clock_timestamp()
    from promoted
    where location.platform_store_id = promoted.platform_store_id
)
select id, is_new
from promoted
order by id
