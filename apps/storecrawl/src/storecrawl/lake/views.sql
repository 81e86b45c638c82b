-- The views in DuckDB, over the rows of all files, which are in `lake`.

create view prices as
select
    *,
    coalesce(least(price_rec_cents, special_rec_cents), least(price_med_cents, special_med_cents)) as price_cents,
    special_rec_cents is not null or special_med_cents is not null as is_on_special
from lake;

-- arg_max_null, because arg_max would pass over the newest value if it is null.
create view products as
select
    product_id,
    min(day) as first_day,
    max(day) as last_day,
    arg_max_null(columns([
        'platform', 'state', 'store_id', 'store_name', 'external_id', 'name', 'brand', 'brand_slug', 'category',
        'subcategory', 'strain_type', 'thc_lo', 'thc_hi', 'thc_unit', 'cbd_lo', 'cbd_hi', 'cbd_unit', 'availability'
    ]), last_observed_at)
from lake
group by product_id;

create view stores as
select
    store_id,
    min(day) as first_day,
    max(day) as last_day,
    count(distinct product_id) as products,
    arg_max_null(columns(['platform', 'state', 'store_name', 'chain', 'city']), last_observed_at)
from lake
group by store_id;

create view brands as
select
    brand_slug,
    arg_max_null(brand, last_observed_at) as brand,
    count(distinct store_id) as stores,
    count(distinct product_id) as products,
    min(day) as first_day,
    max(day) as last_day
from lake
where brand is not null
group by brand_slug;
