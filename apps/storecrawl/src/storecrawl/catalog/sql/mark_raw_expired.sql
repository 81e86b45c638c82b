-- returns: nothing; the rows of some raw menus whose files were removed say since when
update storecrawl.raw_menus
set expired_at = clock_timestamp()
where id = any(%(ids)s)
    and expired_at is null
