-- returns: a page of stores by id; the next page is what comes after its last one
select id, platform_store_id, name, slug, chain, city, state, country, timezone, recreational, medical,
    crawl_enabled, last_fetch_at, first_seen_at, last_seen_at, blocked_at, blocked_until, because as blocked_because
from storecrawl.stores
left join storecrawl.blocked_stores on store_id = id
where id > %(after)s
    and (%(state)s::text is null or state = %(state)s)
    and (%(pattern)s::text is null or concat_ws(' ', name, slug, chain, city) ilike %(pattern)s)
    and (not %(blocked)s or store_id is not null)
order by id
limit %(limit)s
