-- Enter or renew what discovery saw; what is not said this time stays as it was.
-- returns: how many were new
with seen as (
    select *
    from jsonb_to_recordset(%(locations)s::jsonb) as location (
        platform_store_id text, name text, slug text, chain text, address text, city text, state text,
        postal_code text, country text, latitude double precision, longitude double precision,
        timezone text, menu_url text, recreational boolean, medical boolean, raw jsonb
    )
),
written as (
    insert into storecrawl.locations as known (
        platform_store_id, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, raw
    )
    select
        platform_store_id, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, raw
    from seen
    order by platform_store_id
    on conflict (platform_store_id) do update
    set name = coalesce(excluded.name, known.name),
        slug = coalesce(excluded.slug, known.slug),
        chain = coalesce(excluded.chain, known.chain),
        address = coalesce(excluded.address, known.address),
        city = coalesce(excluded.city, known.city),
        state = coalesce(excluded.state, known.state),
        postal_code = coalesce(excluded.postal_code, known.postal_code),
        country = coalesce(excluded.country, known.country),
        latitude = coalesce(excluded.latitude, known.latitude),
        longitude = coalesce(excluded.longitude, known.longitude),
        timezone = coalesce(excluded.timezone, known.timezone),
        menu_url = coalesce(excluded.menu_url, known.menu_url),
        recreational = coalesce(excluded.recreational, known.recreational),
        medical = coalesce(excluded.medical, known.medical),
        raw = coalesce(excluded.raw, known.raw),
        last_seen_at = greatest(known.last_seen_at, clock_timestamp())
    returning (xmax = 0) as is_new
)
select count(*) filter (where is_new)
from written
