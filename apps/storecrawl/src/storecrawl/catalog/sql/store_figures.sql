-- What there is of some stores: products on their menus, what the cheapest and the dearest cost, how often they were fetched.
-- returns: a row for each of the given stores
select
    given.id as store_id, counted.products, counted.in_stock, priced.lowest_cents, priced.highest_cents,
    (select count(*) from storecrawl.payloads where store_id = given.id) as payloads
from unnest(%(ids)s::bigint[]) as given (id)
cross join lateral (
    select count(*) as products, count(*) filter (where in_stock) as in_stock
    from storecrawl.products
    where store_id = given.id
        and availability <> 'removed_from_menu'
) as counted
cross join lateral (
    select min(cents) as lowest_cents, max(cents) as highest_cents
    from storecrawl.products as product
    join storecrawl.variants as variant on variant.product_id = product.id and variant.listed
    cross join lateral (
        select coalesce(
            least(price_rec_cents, special_rec_cents), least(price_med_cents, special_med_cents)
        ) as cents
    ) as price
    where product.store_id = given.id
        and product.availability <> 'removed_from_menu'
) as priced
