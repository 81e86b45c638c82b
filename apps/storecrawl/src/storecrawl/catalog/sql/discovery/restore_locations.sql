-- The platform knows these again: they go back to what they were before somebody had to look into them.
update storecrawl.locations as location
set status = case
        when store.platform_store_id = location.platform_store_id then 'verified'
        else 'linked'
    end::storecrawl.location_status,
    problems = '{}',
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
from storecrawl.stores as store
where location.id = any(%(ids)s)
    and location.status = 'needs_investigation'
    and store.id = location.store_id
