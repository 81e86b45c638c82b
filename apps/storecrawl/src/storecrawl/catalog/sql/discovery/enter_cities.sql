-- Enter the cities of a state as the platform names them; those that it no longer names stay.
with named as (
    select *
    from jsonb_to_recordset(%(cities)s::jsonb) as city (
        name text, slug text, country text, latitude double precision, longitude double precision, stores_told integer
    )
)
insert into storecrawl.cities as known (state, name, slug, country, latitude, longitude, stores_told)
select distinct on (name) %(state)s, name, slug, country, latitude, longitude, stores_told
from named
order by name
on conflict (state, name) do update
set slug = coalesce(excluded.slug, known.slug),
    country = coalesce(excluded.country, known.country),
    latitude = coalesce(excluded.latitude, known.latitude),
    longitude = coalesce(excluded.longitude, known.longitude),
    stores_told = coalesce(excluded.stores_told, known.stores_told),
    last_seen_at = greatest(known.last_seen_at, clock_timestamp())
