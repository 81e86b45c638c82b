-- Count, for each product that was last seen before a payload, the complete payloads since: the number
-- follows from the history alone, so that a second run, or payloads in another order, lead to the same.
-- At the threshold the product counts as removed and counting stops.
-- returns: id of each product whose number changed, and whether it was removed by that
with absent as (
    select id, last_seen_at
    from storecrawl.products
    where store_id = %(store_id)s
        and availability <> 'removed_from_menu'
        and last_seen_at < %(fetched_at)s
    order by external_id
    for no key update
),
counted as (
    select
        absent.id,
        least(%(threshold)s, (
            select count(*)
            from storecrawl.payloads
            where store_id = %(store_id)s
                and complete
                and fetched_at > absent.last_seen_at
        ))::integer as misses
    from absent
)
update storecrawl.products as product
set consecutive_misses = counted.misses,
    availability = case
        when counted.misses >= %(threshold)s then 'removed_from_menu' else product.availability
    end,
    in_stock = product.in_stock and counted.misses < %(threshold)s
from counted
where product.id = counted.id
    and product.consecutive_misses <> counted.misses
returning product.id, product.availability = 'removed_from_menu' as removed
