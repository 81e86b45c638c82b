-- returns: a page of stores by id; the next page is what comes after its last one
select id, platform_store_id, name, slug, chain, city, state, country, timezone, recreational, medical,
    crawl_enabled, last_fetch_at, first_seen_at, last_seen_at
from storecrawl.stores
where id > %(after)s
    and (%(state)s::text is null or state = %(state)s)
    and (%(pattern)s::text is null or concat_ws(' ', name, slug, chain, city) ilike %(pattern)s)
order by id
limit %(limit)s
