-- returns: nothing; the rows of some payloads whose files were removed, with those of their raw menus, say since when
with raw as (
    update storecrawl.raw_menus
    set expired_at = clock_timestamp()
    where payload_id = any(%(ids)s)
        and expired_at is null
)
update storecrawl.payloads
set expired_at = clock_timestamp()
where id = any(%(ids)s)
    and expired_at is null
