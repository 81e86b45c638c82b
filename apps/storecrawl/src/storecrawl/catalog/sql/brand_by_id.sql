-- returns: one brand, and what all menus together have of it
select
    brand.id, brand.name, brand.slug, brand.external_id, brand.logo_url, brand.first_seen_at,
    coalesce(stores, 0) as stores, coalesce(products, 0) as products, coalesce(in_stock, 0) as in_stock,
    coalesce(variants, 0) as variants, coalesce(on_special, 0) as on_special,
    lowest_cents, average_cents, highest_cents, coalesce(price_changes, 0) as price_changes, price_changed_at
from storecrawl.brands as brand
left join storecrawl.brand_statistics on brand_id = brand.id
where brand.id = %(brand_id)s
