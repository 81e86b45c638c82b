-- name: query_menu
-- returns: the matching products of a store's menu, in order
select
    external_id as id, name, brand, category, subcategory, strain_type,
    price_cents as price, price_med_cents as price_med, price_rec_cents as price_rec,
    case when thc_lo is not null then jsonb_build_object('lo', thc_lo, 'hi', thc_hi, 'unit', thc_unit) end as thc,
    case when cbd_lo is not null then jsonb_build_object('lo', cbd_lo, 'hi', cbd_hi, 'unit', cbd_unit) end as cbd,
    case when weight_value is not null then jsonb_build_object('value', weight_value, 'unit', weight_unit) end as weight,
    availability as status, in_stock, image_url, description
from storecrawl.menu_products
cross join lateral (
    select
        case %(sort)s::text when 'name' then lower(name) when 'brand' then lower(brand) end as word,
        case %(sort)s::text when 'price' then price_cents when 'thc' then thc_percent_hi end as figure
) as sorted
where store_id = %(store_id)s
    and (%(brand)s::text is null or lower(brand) = lower(%(brand)s))
    and (%(category)s::text is null or category = %(category)s)
    and (%(subcategory)s::text is null or lower(subcategory) = lower(%(subcategory)s))
    and (%(strain_type)s::text is null or lower(strain_type) = lower(%(strain_type)s))
    and (%(in_stock)s::boolean is null or in_stock = %(in_stock)s)
    and (%(price_min)s::integer is null or price_cents >= %(price_min)s)
    and (%(price_max)s::integer is null or price_cents <= %(price_max)s)
    and (%(thc_min)s::numeric is null or thc_percent_hi >= %(thc_min)s)
    and (%(thc_max)s::numeric is null or thc_percent_lo <= %(thc_max)s)
    and (%(search)s::text is null or name ilike %(search)s or brand ilike %(search)s)
order by
    case when %(order)s = 'asc' then word end,
    case when %(order)s = 'desc' then word end desc nulls last,
    case when %(order)s = 'asc' then figure end,
    case when %(order)s = 'desc' then figure end desc nulls last,
    external_id


-- name: aggregate_menu
-- returns: totals of a store's menu by brand or category, the largest group first
select
    case %(group_by)s::text when 'brand' then brand else category end as "group",
    count(*) as count,
    round(avg(price_cents))::integer as avg_price,
    min(price_cents) as min_price,
    max(price_cents) as max_price,
    round(avg((thc_percent_lo + thc_percent_hi) / 2), 3)::float8 as avg_thc,
    count(*) filter (where in_stock) as in_stock_count
from storecrawl.menu_products
where store_id = %(store_id)s
group by 1
order by count(*) desc, 1
