-- Take up again what the rules had rejected, now that it meets them.
update storecrawl.locations
set status = 'discovered',
    problems = '{}',
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
where id = any(%(ids)s)
    and status = 'rejected'
