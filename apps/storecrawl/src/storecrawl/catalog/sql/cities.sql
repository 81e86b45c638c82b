-- name: list_states
-- returns: the states that were searched or have a location, with their totals
with cities as (
    select state,
        count(*) as cities,
        count(*) filter (where crawled_at is not null) as crawled,
        count(*) filter (where failures > 0) as failing,
        max(crawled_at) as crawled_at
    from storecrawl.cities
    group by state
),
searches as (
    select state,
        max(listed_at) as listed_at,
        sum(failures)::int as failures,
        max(failed_at) as failed_at,
        string_agg(error, '; ' order by platform) as error
    from storecrawl.state_searches
    group by state
),
locations as (
    select state,
        count(*) as locations,
        count(*) filter (where status in ('verified', 'linked')) as promoted,
        count(*) filter (where status = 'rejected') as rejected,
        count(*) filter (where status = 'needs_investigation') as needing_investigation
    from storecrawl.locations
    where state is not null
    group by state
)
select coalesce(state.code, locations.state) as code,
    coalesce(state.name, locations.state) as name,
    search.listed_at,
    coalesce(search.failures, 0) as failures,
    search.failed_at,
    search.error,
    coalesce(cities.cities, 0) as cities,
    coalesce(cities.crawled, 0) as cities_crawled,
    coalesce(cities.failing, 0) as cities_failing,
    cities.crawled_at,
    coalesce(locations.locations, 0) as locations,
    coalesce(locations.promoted, 0) as promoted,
    coalesce(locations.rejected, 0) as rejected,
    coalesce(locations.needing_investigation, 0) as needing_investigation
from storecrawl.states as state
full join locations on locations.state = state.code
left join searches as search on search.state = state.code
left join cities on cities.state = state.code
where search.state is not null
    or locations.locations > 0
    or cities.cities > 0
order by name


-- name: list_cities
-- returns: a page of cities by state and name, after the last one of the previous page
select city.id, city.platform, city.state, city.name, city.stores_told, city.stores_found, city.crawled_at,
    city.failures, city.failed_at, city.error, city.first_seen_at, city.last_seen_at
from storecrawl.cities as city
where (%(state)s::text is null or city.state = %(state)s)
    and (not %(failing)s or city.failures > 0)
    and (
        %(after)s::bigint is null
        or (city.state, city.name, city.platform)
            > (select state, name, platform from storecrawl.cities where id = %(after)s)
    )
order by city.state, city.name, city.platform
limit %(limit)s


-- name: enter_state
-- Add a state that is not among the known ones.
insert into storecrawl.states (code, name)
values (%(state)s, %(state)s)
on conflict (code) do nothing


-- name: note_state_listed
-- Record that a platform answered about a state.
insert into storecrawl.state_searches as known (platform, state, listed_at)
values (%(platform)s, %(state)s, clock_timestamp())
on conflict (platform, state) do update
set listed_at = clock_timestamp(),
    failures = 0,
    failed_at = null,
    error = null


-- name: note_state_failed
-- Count a failed attempt to get the cities of a state.
insert into storecrawl.state_searches as known (platform, state, failures, failed_at, error)
values (%(platform)s, %(state)s, 1, clock_timestamp(), %(error)s)
on conflict (platform, state) do update
set failures = known.failures + 1,
    failed_at = clock_timestamp(),
    error = excluded.error


-- name: enter_cities
-- Record the cities of a state that the platform names; those that it no longer names stay.
with named as (
    select *
    from jsonb_to_recordset(%(cities)s::jsonb) as city (
        name text, slug text, country text, latitude double precision, longitude double precision, stores_told integer
    )
)
insert into storecrawl.cities as known (platform, state, name, slug, country, latitude, longitude, stores_told)
select distinct on (name) %(platform)s, %(state)s, name, slug, country, latitude, longitude, stores_told
from named
order by name
on conflict (platform, state, name) do update
set slug = coalesce(excluded.slug, known.slug),
    country = coalesce(excluded.country, known.country),
    latitude = coalesce(excluded.latitude, known.latitude),
    longitude = coalesce(excluded.longitude, known.longitude),
    stores_told = coalesce(excluded.stores_told, known.stores_told),
    last_seen_at = greatest(known.last_seen_at, clock_timestamp())


-- name: note_city_crawled
-- Record that the platform named the stores of a city.
update storecrawl.cities
set crawled_at = clock_timestamp(),
    stores_found = %(found)s,
    failures = 0,
    failed_at = null,
    error = null
where platform = %(platform)s
    and state = %(state)s
    and name = %(city)s


-- name: note_city_failed
-- Count a failed attempt to get the stores of a city.
update storecrawl.cities
set failures = failures + 1,
    failed_at = clock_timestamp(),
    error = %(error)s
where platform = %(platform)s
    and state = %(state)s
    and name = %(city)s
