-- Statistics to read. They leave out the menus of dark stores. Each view is refreshed concurrently, so it has a unique index and is populated at once.

create materialized view storecrawl.brand_counts_by_state as
select
    coalesce(store.state, '') as state,
    product.brand,
    count(distinct product.store_id) as stores,
    count(*) as products,
    count(*) filter (where product.in_stock) as products_in_stock
from storecrawl.products as product
join storecrawl.stores as store on store.id = product.store_id
where product.brand is not null
    and product.availability <> 'removed_from_menu'
    and store.dark_since is null
group by coalesce(store.state, ''), product.brand;

create unique index brand_counts_by_state_key on storecrawl.brand_counts_by_state (state, brand);

create materialized view storecrawl.category_price_statistics as
with prices as (
    select
        coalesce(store.state, '') as state,
        coalesce(product.category, '') as category,
        least(variant.price_rec_cents, variant.special_rec_cents) as rec_cents,
        least(variant.price_med_cents, variant.special_med_cents) as med_cents,
        variant.is_on_special
    from storecrawl.variants as variant
    join storecrawl.products as product on product.id = variant.product_id
    join storecrawl.stores as store on store.id = product.store_id
    where variant.listed
        and product.availability <> 'removed_from_menu'
        and store.dark_since is null
)
select
    state,
    category,
    count(*) as variants,
    count(*) filter (where is_on_special) as variants_on_special,
    min(coalesce(rec_cents, med_cents)) as lowest_cents,
    percentile_disc(0.5) within group (order by coalesce(rec_cents, med_cents)) as median_cents,
    round(avg(coalesce(rec_cents, med_cents)))::bigint as average_cents,
    max(coalesce(rec_cents, med_cents)) as highest_cents
from prices
where coalesce(rec_cents, med_cents) is not null
group by state, category;

create unique index category_price_statistics_key on storecrawl.category_price_statistics (state, category);

create materialized view storecrawl.store_product_counts as
select
    store.id as store_id,
    count(product.id) filter (where product.availability <> 'removed_from_menu' and store.dark_since is null)
        as products,
    count(product.id) filter (where product.in_stock) as products_in_stock,
    count(product.id) filter (where product.availability = 'removed_from_menu') as products_removed,
    count(distinct product.brand) filter
        (where product.availability <> 'removed_from_menu' and store.dark_since is null) as brands,
    (
        select payload.fetched_at
        from storecrawl.payloads as payload
        where payload.store_id = store.id
            and payload.applied_at is not null
        order by payload.sequence desc
        limit 1
    ) as last_fetched_at
from storecrawl.stores as store
left join storecrawl.products as product on product.store_id = store.id
group by store.id;

create unique index store_product_counts_key on storecrawl.store_product_counts (store_id);

-- No refresh is needed: the histories are read when the view is. Filter by product, or by day and store.
create view storecrawl.price_history_by_day with (security_invoker = true) as
select
    captured.product_id, captured.option, last.day, captured.price_rec_cents, captured.price_med_cents,
    captured.special_rec_cents, captured.special_med_cents, captured.in_stock, captured.captured_at, last.store_id
from (
    select distinct on (store_id, utc.day) payload.id, store_id, utc.day
    from storecrawl.payloads as payload
    cross join lateral (select (fetched_at at time zone 'UTC')::date as day) as utc
    where applied_at is not null
    order by store_id, utc.day, sequence desc
) as last
join storecrawl.captured_variants as captured on captured.payload_id = last.id;

comment on view storecrawl.price_history_by_day is
    'The prices of each option in the last menu of each UTC day. A day without a fetch of the store has no row.';

create view storecrawl.price_history_by_month with (security_invoker = true) as
select
    captured.product_id, captured.option, last.month, captured.price_rec_cents, captured.price_med_cents,
    captured.special_rec_cents, captured.special_med_cents, captured.in_stock, captured.captured_at, last.store_id
from (
    select distinct on (store_id, utc.month) payload.id, store_id, utc.month
    from storecrawl.payloads as payload
    cross join lateral (select date_trunc('month', fetched_at at time zone 'UTC')::date as month) as utc
    where applied_at is not null
    order by store_id, utc.month, sequence desc
) as last
join storecrawl.captured_variants as captured on captured.payload_id = last.id;

comment on view storecrawl.price_history_by_month is
    'The prices of each option in the last menu of each UTC month, which is named by its first day.';
