-- returns: ids of the stores that may be crawled, in order: all, those of a state, those among the given ids
select id
from storecrawl.stores
where crawl_enabled
    and platform_store_id is not null
    and (%(state)s::text is null or state = %(state)s)
    and (%(ids)s::bigint[] is null or id = any(%(ids)s))
order by id
