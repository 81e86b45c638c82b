-- returns: one location with all that is known of it
select location.id, location.platform_store_id, location.entry, location.status::text, location.problems,
    location.because, location.decided_by, location.decided_at, location.store_id, store.name as store_name,
    location.name, location.slug, location.chain, location.address, location.city, location.state,
    location.postal_code, location.country, location.latitude, location.longitude, location.timezone,
    location.menu_url, location.recreational, location.medical, location.first_seen_at, location.last_seen_at
from storecrawl.locations as location
left join storecrawl.stores as store on store.id = location.store_id
where location.id = %(location_id)s
