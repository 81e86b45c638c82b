-- returns: a page of brands by name; the next page is what comes after its last one
select
    brand.id, brand.name, brand.slug, brand.external_id, brand.logo_url, brand.first_seen_at,
    coalesce(stores, 0) as stores, coalesce(products, 0) as products, coalesce(in_stock, 0) as in_stock,
    coalesce(variants, 0) as variants, coalesce(on_special, 0) as on_special,
    lowest_cents, average_cents, highest_cents, coalesce(price_changes, 0) as price_changes, price_changed_at
from storecrawl.brands as brand
left join storecrawl.brand_statistics as counted on counted.brand_id = brand.id
where (brand.name, brand.id) > (
        coalesce((select name from storecrawl.brands where id = %(after)s), ''), coalesce(%(after)s::bigint, 0)
    )
    and (%(pattern)s::text is null or brand.name ilike %(pattern)s)
order by brand.name, brand.id
limit %(limit)s
