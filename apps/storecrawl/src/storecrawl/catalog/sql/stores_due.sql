-- returns: stores that may be fetched again, the longest unfetched first
select id, platform_store_id, slug, name, state, last_fetch_at
from storecrawl.stores
where crawl_enabled
    and platform_store_id is not null
    and (
        last_fetch_at is null
        or last_fetch_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - %(interval)s::interval
    )
    and (%(state)s::text is null or state = %(state)s)
order by last_fetch_at nulls first, id
limit %(limit)s::bigint
