-- Locations of a store that somebody had to look into, and whose id it no longer goes by: nothing is left to be done.
update storecrawl.locations as location
set status = 'linked',
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
from storecrawl.stores as store
where store.id = %(store_id)s
    and location.store_id = store.id
    and location.status = 'needs_investigation'
    and location.platform_store_id is distinct from store.platform_store_id
