-- returns: nothing; an image's row says what was fetched and when to look again
update storecrawl.images
set due_at = clock_timestamp() + %(again)s::interval,
    tries = 0,
    problem = null,
    path = %(path)s,
    sha256 = %(sha256)s,
    content_type = %(content_type)s,
    size = %(size)s,
    width = %(width)s,
    height = %(height)s,
    etag = %(etag)s,
    fetched_at = clock_timestamp()
where id = %(id)s
