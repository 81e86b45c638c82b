-- The newest payloads of each store stay, those that were never applied, and those that an open task is about to read.
-- returns: of the next stores, the payloads whose files the retention policy no longer keeps
with next_stores as (
    select id
    from storecrawl.stores
    where id > %(after)s
    order by id
    limit %(stores)s
),
wanted as (
    select (payload ->> 'payload_id')::bigint as payload_id
    from rolecall.all_tasks
    where finished_at is null
        and handler = 'product_refresh'
)
select next_stores.id as store_id, old.id, old.storage_path, raw.storage_path as raw_path
from next_stores
left join lateral (
    select each.id, each.storage_path, each.fetched_at, each.applied_at
    from storecrawl.payloads as each
    where each.store_id = next_stores.id
        and each.expired_at is null
    order by each.fetched_at desc, each.id desc
    offset %(newest)s
) as old on old.applied_at is not null
    and (old.fetched_at < %(before)s::timestamptz or %(before)s::timestamptz is null)
    and old.id not in (select payload_id from wanted where payload_id is not null)
left join storecrawl.raw_menus as raw on raw.payload_id = old.id and raw.expired_at is null
order by next_stores.id, old.id
