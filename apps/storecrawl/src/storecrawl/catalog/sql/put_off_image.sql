-- returns: nothing; an image's row says why nothing new was fetched, if it was not, and when to try again, if ever
update storecrawl.images
set due_at = clock_timestamp() + %(again)s::interval,
    tries = %(tries)s,
    problem = %(problem)s
where id = %(id)s
