-- Give a location the status that somebody decided on.
update storecrawl.locations
set status = %(status)s::storecrawl.location_status,
    because = %(because)s,
    rejected_by_person = %(status)s = 'rejected',
    decided_by = %(by)s,
    decided_at = clock_timestamp()
where id = %(location_id)s
