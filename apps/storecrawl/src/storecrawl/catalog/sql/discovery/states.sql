-- returns: the states that were asked for or have a location, with what there is of each
with cities as (
    select state,
        count(*) as cities,
        count(*) filter (where crawled_at is not null) as crawled,
        count(*) filter (where failures > 0) as failing,
        max(crawled_at) as crawled_at
    from storecrawl.cities
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
    state.listed_at,
    coalesce(state.failures, 0) as failures,
    state.failed_at,
    state.error,
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
left join cities on cities.state = state.code
where state.listed_at is not null
    or state.failures > 0
    or locations.locations > 0
    or cities.cities > 0
order by name
