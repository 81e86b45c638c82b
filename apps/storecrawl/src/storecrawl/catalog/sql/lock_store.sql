-- One refresh of a store at a time: the later one waits here.
-- returns: a row when the payload is this store's, and none else
-- locks: the store's row
with store as (
    select id
    from storecrawl.stores
    where id = %(store_id)s
    for no key update
)
select payload.id
from storecrawl.payloads as payload
join store on store.id = payload.store_id
where payload.id = %(payload_id)s
    and payload.fetched_at = %(fetched_at)s
