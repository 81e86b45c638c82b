-- name: overdue_stores
-- Search the stores without a menu for a time that still count as light. A menu counts once it is applied. A store that
-- was never crawled and never will be has none to expect.
-- returns: their ids, in order, all or the first ones, of all states or one, or those among the given ids
select store.id
from storecrawl.stores as store
where store.dark_since is null
    and (%(state)s::text is null or store.state = %(state)s)
    and (%(ids)s::bigint[] is null or store.id = any(%(ids)s))
    and coalesce(
        (
            select payload.fetched_at
            from storecrawl.payloads as payload
            where payload.store_id = store.id
                and payload.applied_at is not null
            order by payload.sequence desc
            limit 1
        ),
        case when store.crawl_enabled then store.first_seen_at end
    ) <= clock_timestamp() - %(after)s::interval
order by store.id
limit %(limit)s::bigint


-- name: lock_stores
-- Wait for the refreshes of stores.
-- locks: their rows, in the order of their ids
select id
from storecrawl.stores
where id = any(%(ids)s)
order by id
for no key update


-- name: mark_dark
-- Mark stores as dark from now on.
update storecrawl.stores
set dark_since = clock_timestamp()
where id = any(%(ids)s)


-- name: forget_stock
-- Set the stock of dark stores to unknown.
-- locks: the products and options of stores whose rows are locked
with dark as (
    select id
    from storecrawl.stores
    where id = any(%(ids)s)
        and dark_since is not null
),
forgotten as (
    update storecrawl.products as product
    set availability = 'unknown',
        in_stock = false
    from dark
    where product.store_id = dark.id
        and product.availability <> 'removed_from_menu'
        and (product.availability <> 'unknown' or product.in_stock)
)
update storecrawl.variants as variant
set in_stock = false,
    quantity = null,
    quantity_capped = false,
    changed_at = clock_timestamp()
from storecrawl.products as product
join dark on dark.id = product.store_id
where variant.product_id = product.id
    and (variant.in_stock or variant.quantity is not null)


-- name: lighten_store
-- End the darkness of a store with a payload that was just applied, unless a newer one was applied before.
update storecrawl.stores
set dark_since = null
where id = %(store_id)s
    and not exists (
        select
        from storecrawl.payloads
        where store_id = %(store_id)s
            and applied_at is not null
            and sequence > %(sequence)s
    )


-- name: count_same_id
-- Count a search that has found the id again which the platform does not know.
-- returns: how many such searches came one after another
update storecrawl.stores
set same_id_finds = same_id_finds + 1
where id = %(store_id)s
returning same_id_finds


-- name: count_dark_stores
-- returns: how many of the stores that may be crawled are dark, their total, the time of the first one, and some names
with crawled as (
    select id, name, dark_since
    from storecrawl.stores
    where crawl_enabled
        and platform is not null
        and platform_store_id is not null
)
select
    count(dark_since) as found,
    count(*) as stores,
    min(dark_since) as since,
    array(
        select name || ' (' || id || ')'
        from crawled
        where dark_since is not null
        order by dark_since, id
        limit %(named)s
    ) as examples
from crawled


-- name: count_lost_ids
-- returns: how many of the stores that may be crawled have an id that searches find and the platform does not know,
--          their total, and some names
with crawled as (
    select id, name, same_id_finds >= %(limit)s as is_lost
    from storecrawl.stores
    where crawl_enabled
        and platform is not null
        and platform_store_id is not null
)
select
    count(*) filter (where is_lost) as found,
    count(*) as stores,
    null::timestamptz as since,
    array(select name || ' (' || id || ')' from crawled where is_lost order by id limit %(named)s) as examples
from crawled
