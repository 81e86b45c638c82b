-- Link a location to a store that there is.
update storecrawl.locations
set status = 'linked',
    store_id = %(store_id)s,
    promoted_at = clock_timestamp(),
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
where id = %(location_id)s
