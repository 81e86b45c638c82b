-- An entry point that led nowhere has led to a store after all.
update storecrawl.locations as entry
set status = 'linked',
    store_id = found.store_id,
    promoted_at = clock_timestamp(),
    because = 'location ' || found.id || ' is what it leads to',
    decided_by = %(by)s,
    decided_at = clock_timestamp()
from storecrawl.locations as found
where entry.entry = %(entry)s
    and entry.status = 'needs_investigation'
    and found.platform_store_id = %(platform_store_id)s
    and found.store_id is not null
