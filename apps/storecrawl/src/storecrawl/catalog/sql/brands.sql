-- name: list_by_name
-- returns: a page of brands by name, after the last one of the previous page
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


-- name: list_by_products
-- returns: a page of brands, the most products first, after the last one of the previous page
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


-- name: brand_by_id
-- returns: one brand with its totals over all menus
select
    brand.id, brand.name, brand.slug, brand.external_id, brand.logo_url, brand.first_seen_at,
    coalesce(stores, 0) as stores, coalesce(products, 0) as products, coalesce(in_stock, 0) as in_stock,
    coalesce(variants, 0) as variants, coalesce(on_special, 0) as on_special,
    lowest_cents, average_cents, highest_cents, coalesce(price_changes, 0) as price_changes, price_changed_at
from storecrawl.brands as brand
left join storecrawl.brand_statistics on brand_id = brand.id
where brand.id = %(brand_id)s


-- name: stores_of_brand
-- returns: the stores that have the most products of a brand on their menus
select
    store.id as store_id, store.name as store_name, store.state,
    count(*) as products, count(*) filter (where product.in_stock) as in_stock
from storecrawl.products as product
join storecrawl.stores as store on store.id = product.store_id
where product.brand_id = %(brand_id)s
    and product.availability <> 'removed_from_menu'
group by store.id
order by products desc, store.id
limit %(limit)s


-- name: enter_brands
-- Record the new brands of a menu, and logos of brands without one.
with named as (
    select distinct on (slug) name, slug, external_id, logo_url
    from jsonb_to_recordset(%(brands)s::jsonb) as brand (name text, external_id text, logo_url text)
    cross join lateral storecrawl.brand_slug(name) as slug
    order by slug, logo_url nulls last, name
)
insert into storecrawl.brands as known (name, slug, external_id, logo_url)
select name, slug, external_id, logo_url
from named
where not exists (
    select
    from storecrawl.brands as standing
    where standing.slug = named.slug
        and (standing.logo_url is not null or named.logo_url is null)
)
order by slug
on conflict (slug) do update
set logo_url = excluded.logo_url
where known.logo_url is null
    and excluded.logo_url is not null
