-- What stands around a payload in its store's history; to be read after the store is locked.
-- returns: whether it was applied before; how many newer complete payloads were applied; the size of the
--          last one applied before it; how many fetches between the two were below the share of that size
with earlier as (
    select id, fetched_at, applied_count
    from storecrawl.payloads
    where store_id = %(store_id)s
        and applied_at is not null
        and (fetched_at, id) < (%(fetched_at)s, %(payload_id)s)
    order by fetched_at desc, id desc
    limit 1
)
select
    (select applied_at is not null from storecrawl.payloads where id = %(payload_id)s) as applied,
    (
        select count(*)
        from storecrawl.payloads
        where store_id = %(store_id)s
            and complete
            and fetched_at > %(fetched_at)s
    ) as newer,
    (select applied_count from earlier) as last_count,
    (
        select count(*)
        from storecrawl.payloads as between_them, earlier
        where between_them.store_id = %(store_id)s
            and (between_them.fetched_at, between_them.id) > (earlier.fetched_at, earlier.id)
            and (between_them.fetched_at, between_them.id) < (%(fetched_at)s, %(payload_id)s)
            and between_them.product_count < earlier.applied_count * %(smallest_share)s::numeric
    ) as as_small
