-- returns: a page of brands, those with the most products first; the next page is what comes after its last one
with counted as (
    select
        brand.id, brand.name, brand.slug, brand.external_id, brand.logo_url, brand.first_seen_at,
        coalesce(stores, 0) as stores, coalesce(products, 0) as products, coalesce(in_stock, 0) as in_stock,
        coalesce(variants, 0) as variants, coalesce(on_special, 0) as on_special,
        lowest_cents, average_cents, highest_cents, coalesce(price_changes, 0) as price_changes, price_changed_at
    from storecrawl.brands as brand
    left join storecrawl.brand_statistics on brand_id = brand.id
)
select *
from counted
where (
        %(after)s::bigint is null
        or (-products, id) > (
            coalesce((select -products from storecrawl.brand_statistics where brand_id = %(after)s::bigint), 0),
            %(after)s::bigint
        )
    )
    and (%(pattern)s::text is null or name ilike %(pattern)s)
order by -products, id
limit %(limit)s
