-- Bring the statistics of some brands, or of all (null), in line with the partials; those of brands that no menu has go.
with counted as (
    select
        brand_id,
        count(distinct store_id)::integer as stores,
        sum(products)::integer as products,
        sum(in_stock)::integer as in_stock,
        sum(variants)::integer as variants,
        sum(on_special)::integer as on_special,
        min(lowest_cents) as lowest_cents,
        round(sum(total_cents) / nullif(sum(priced), 0))::integer as average_cents,
        max(highest_cents) as highest_cents,
        sum(price_changes)::bigint as price_changes,
        max(price_changed_at) as price_changed_at
    from storecrawl.store_partials
    where brand_id <> 0
        and (%(brands)s::bigint[] is null or brand_id = any(%(brands)s::bigint[]))
    group by brand_id
),
standing as (
    select brand_id
    from storecrawl.brand_statistics
    where %(brands)s::bigint[] is null or brand_id = any(%(brands)s::bigint[])
)
merge into storecrawl.brand_statistics as known
using (
    select coalesce(counted.brand_id, standing.brand_id) as key, counted.*
    from counted
    full join standing on standing.brand_id = counted.brand_id
) as source
on known.brand_id = source.key
when matched and source.brand_id is null then
    delete
when matched and (
    known.stores, known.products, known.in_stock, known.variants, known.on_special,
    known.lowest_cents, known.average_cents, known.highest_cents, known.price_changes, known.price_changed_at
) is distinct from (
    source.stores, source.products, source.in_stock, source.variants, source.on_special,
    source.lowest_cents, source.average_cents, source.highest_cents, source.price_changes, source.price_changed_at
) then
    update set stores = source.stores, products = source.products, in_stock = source.in_stock,
        variants = source.variants, on_special = source.on_special, lowest_cents = source.lowest_cents,
        average_cents = source.average_cents, highest_cents = source.highest_cents,
        price_changes = source.price_changes, price_changed_at = source.price_changed_at
when not matched then
    insert values (
        source.brand_id, source.stores, source.products, source.in_stock, source.variants, source.on_special,
        source.lowest_cents, source.average_cents, source.highest_cents, source.price_changes, source.price_changed_at
    )
