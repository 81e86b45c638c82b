-- returns: a line for each of some products: what it is, and what a customer pays for the least and the most of it
select
    product.id, product.store_id, store.name as store_name, product.external_id, product.name, product.brand,
    product.category, product.availability, product.last_seen_at,
    priced.lowest_cents, priced.highest_cents, coalesce(priced.on_special, false) as on_special
from storecrawl.products as product
join storecrawl.stores as store on store.id = product.store_id
cross join lateral (
    select
        min(cents) as lowest_cents, max(cents) as highest_cents, bool_or(is_on_special) as on_special
    from storecrawl.variants as variant
    cross join lateral (
        select coalesce(
            least(price_rec_cents, special_rec_cents), least(price_med_cents, special_med_cents)
        ) as cents
    ) as price
    where variant.product_id = product.id
        and variant.listed
) as priced
where product.id = any(%(ids)s)
order by product.name, product.id
