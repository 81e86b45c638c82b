-- returns: a page of locations by id; the next page is what comes after its last one
select location.id, location.platform_store_id, location.entry, location.status::text, location.problems,
    location.because, location.decided_by, location.decided_at, location.store_id, store.name as store_name,
    location.name, location.slug, location.chain, location.address, location.city, location.state,
    location.postal_code, location.country, location.latitude, location.longitude, location.timezone,
    location.menu_url, location.recreational, location.medical, location.first_seen_at, location.last_seen_at
from storecrawl.locations as location
left join storecrawl.stores as store on store.id = location.store_id
where location.id > %(after)s
    and (%(status)s::storecrawl.location_status is null or location.status = %(status)s::storecrawl.location_status)
    and (%(state)s::text is null or location.state = %(state)s)
    and (%(city)s::text is null or lower(location.city) = lower(%(city)s))
    and (
        %(pattern)s::text is null
        or concat_ws(' ', location.name, location.slug, location.chain, location.city, location.platform_store_id,
            location.entry) ilike %(pattern)s
    )
order by location.id
limit %(limit)s
