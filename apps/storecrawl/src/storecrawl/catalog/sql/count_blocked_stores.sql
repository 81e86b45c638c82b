-- returns: how many stores are blocked, of how many that may be crawled, and since when the first of them is
select
    count(*) filter (where blocked.store_id is not null) as blocked,
    count(*) as stores,
    min(blocked.blocked_at) as since,
    (array_agg(blocked.because order by blocked.blocked_at desc) filter (where blocked.store_id is not null))[1] as because
from storecrawl.stores as store
left join storecrawl.blocked_stores as blocked on blocked.store_id = store.id
where store.crawl_enabled
    and store.platform_store_id is not null
