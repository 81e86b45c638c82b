-- name: observed_payloads
-- returns: the applied payloads in a range of UTC days, those of a store and a day together
select
    payload.id,
    payload.store_id,
    (payload.fetched_at at time zone 'UTC')::date as day,
    payload.applied_count
from storecrawl.payloads as payload
join storecrawl.lake_stores as store on store.store_id = payload.store_id
where payload.applied_at is not null
    and (%(since)s::date is null or payload.fetched_at >= %(since)s::date::timestamp at time zone 'UTC')
    and (%(until)s::date is null or payload.fetched_at < (%(until)s::date + 1)::timestamp at time zone 'UTC')
    and (%(store)s::bigint is null or payload.store_id = %(store)s)
    and (%(platform)s::text is null or store.platform = %(platform)s)
    and (%(state)s::text is null or store.state = %(state)s)
order by day, payload.store_id, payload.sequence


-- name: count_products
-- returns: the products in payloads, as far as their history is kept
select count(*)
from storecrawl.captured_products
where payload_id = any(%(payloads)s::bigint[])


-- name: prices
-- One row per option and UTC day: its last values, and its prices over the day. A price is the lower one of regular
-- price and special. The payloads of a store and a day must be together.
with observed as (
    select
        variant.payload_id,
        variant.product_id,
        variant.option,
        (variant.captured_at at time zone 'UTC')::date as day,
        variant.captured_at,
        variant.price_rec_cents,
        variant.special_rec_cents,
        variant.price_med_cents,
        variant.special_med_cents,
        least(variant.price_rec_cents, variant.special_rec_cents) as rec_cents,
        least(variant.price_med_cents, variant.special_med_cents) as med_cents,
        variant.quantity,
        variant.quantity_capped,
        variant.in_stock,
        lead(variant.sequence) over in_order is null as is_last,
        lag(variant.sequence) over in_order is not null and array[
            variant.price_rec_cents, variant.special_rec_cents, variant.price_med_cents, variant.special_med_cents
        ] is distinct from lag(array[
            variant.price_rec_cents, variant.special_rec_cents, variant.price_med_cents, variant.special_med_cents
        ]) over in_order as has_changed,
        variant.sequence
    from storecrawl.captured_variants as variant
    where variant.payload_id = any(%(payloads)s::bigint[])
    window in_order as (
        partition by variant.product_id, variant.option, (variant.captured_at at time zone 'UTC')::date
        order by variant.sequence
    )
),

summed as (
    select
        observed.*,
        first_value(rec_cents) over whole_day as first_rec_cents,
        min(rec_cents) over whole_day as lowest_rec_cents,
        max(rec_cents) over whole_day as highest_rec_cents,
        first_value(med_cents) over whole_day as first_med_cents,
        min(med_cents) over whole_day as lowest_med_cents,
        max(med_cents) over whole_day as highest_med_cents,
        count(*) over whole_day as observations,
        count(*) filter (where has_changed) over whole_day as price_changes,
        first_value(captured_at) over whole_day as first_observed_at
    from observed
    window whole_day as (
        partition by product_id, option, day order by sequence
        rows between unbounded preceding and unbounded following
    )
)

select
    price.day,
    store.platform,
    store.state,
    product.store_id,
    store.store_name,
    store.chain,
    store.city,
    price.product_id,
    current.external_id,
    product.name,
    product.brand,
    storecrawl.brand_slug(product.brand) as brand_slug,
    product.category,
    product.subcategory,
    product.strain_type,
    product.thc_lo,
    product.thc_hi,
    product.thc_unit,
    product.cbd_lo,
    product.cbd_hi,
    product.cbd_unit,
    price.option,
    variant.weight_value,
    variant.weight_unit,
    price.price_rec_cents,
    price.special_rec_cents,
    price.price_med_cents,
    price.special_med_cents,
    price.first_rec_cents,
    price.lowest_rec_cents,
    price.highest_rec_cents,
    price.first_med_cents,
    price.lowest_med_cents,
    price.highest_med_cents,
    price.price_changes,
    price.quantity,
    price.quantity_capped::text,
    price.in_stock::text,
    product.availability,
    price.observations,
    price.first_observed_at,
    price.captured_at as last_observed_at
from summed as price
join storecrawl.captured_products as product
    on product.payload_id = price.payload_id
    and product.product_id = price.product_id
join storecrawl.products as current on current.id = price.product_id
join storecrawl.lake_stores as store on store.store_id = product.store_id
left join storecrawl.variants as variant on variant.product_id = price.product_id and variant.option = price.option
where price.is_last
    and product.payload_id = any(%(payloads)s::bigint[])
order by price.day, product.store_id, price.product_id, price.option


-- name: products
-- One row per product in its newest state. The range of days is that of the last changes.
select
    store.platform,
    store.state,
    product.store_id,
    store.store_name,
    store.chain,
    store.city,
    product.id as product_id,
    product.external_id,
    product.name,
    product.brand,
    brand.slug as brand_slug,
    product.category,
    product.subcategory,
    product.strain_type,
    product.thc_lo,
    product.thc_hi,
    product.thc_unit,
    product.cbd_lo,
    product.cbd_hi,
    product.cbd_unit,
    product.availability,
    product.in_stock::text,
    option.options,
    option.lowest_rec_cents,
    option.lowest_med_cents,
    product.image_url,
    product.first_seen_at,
    product.changed_at
from storecrawl.products as product
join storecrawl.lake_stores as store on store.store_id = product.store_id
left join storecrawl.brands as brand on brand.id = product.brand_id
cross join lateral (
    select
        count(*) as options,
        min(least(price_rec_cents, special_rec_cents)) as lowest_rec_cents,
        min(least(price_med_cents, special_med_cents)) as lowest_med_cents
    from storecrawl.variants
    where product_id = product.id
        and listed
) as option
where (%(since)s::date is null or product.changed_at >= %(since)s::date::timestamp at time zone 'UTC')
    and (%(until)s::date is null or product.changed_at < (%(until)s::date + 1)::timestamp at time zone 'UTC')
    and (%(store)s::bigint is null or product.store_id = %(store)s)
    and (%(platform)s::text is null or store.platform = %(platform)s)
    and (%(state)s::text is null or store.state = %(state)s)
