-- returns: nothing; the rows of some payloads whose files were removed say since when
update storecrawl.payloads
set expired_at = clock_timestamp()
where id = any(%(ids)s)
    and expired_at is null
