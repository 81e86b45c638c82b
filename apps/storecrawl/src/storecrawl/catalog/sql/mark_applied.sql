-- Note that a payload counts from now on; the second time changes nothing.
update storecrawl.payloads
set applied_at = clock_timestamp(),
    applied_count = %(applied_count)s,
    complete = %(complete)s
where id = %(payload_id)s
    and applied_at is null
