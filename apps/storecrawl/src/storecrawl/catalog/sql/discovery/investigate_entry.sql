-- Keep an entry point that leads nowhere, for somebody to look into; what was decided about it stays.
-- returns: id of the location
insert into storecrawl.locations as known (entry, status, because, decided_by, decided_at)
values (%(entry)s, 'needs_investigation', %(because)s, %(by)s, clock_timestamp())
on conflict (entry) do update
set because = excluded.because,
    decided_by = excluded.decided_by,
    decided_at = excluded.decided_at,
    last_seen_at = clock_timestamp()
where known.status = 'needs_investigation'
returning id
