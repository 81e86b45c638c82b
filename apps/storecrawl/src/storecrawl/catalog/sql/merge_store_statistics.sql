-- Bring the statistics of some stores, or of all (null), in line with the partials; categories that a menu lacks go.
with counted as (
    select
        store_id, category,
        (count(*) filter (where brand_id <> 0))::integer as brands,
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
    where %(stores)s::bigint[] is null or store_id = any(%(stores)s::bigint[])
    group by store_id, category
),
standing as (
    select store_id, category
    from storecrawl.store_category_statistics
    where %(stores)s::bigint[] is null or store_id = any(%(stores)s::bigint[])
)
merge into storecrawl.store_category_statistics as known
using (
    select
        coalesce(counted.store_id, standing.store_id) as key, coalesce(counted.category, standing.category) as name,
        counted.*
    from counted
    full join standing on standing.store_id = counted.store_id and standing.category = counted.category
) as source
on known.store_id = source.key and known.category = source.name
when matched and source.store_id is null then
    delete
when matched and (
    known.brands, known.products, known.in_stock, known.variants, known.on_special,
    known.lowest_cents, known.average_cents, known.highest_cents, known.price_changes, known.price_changed_at
) is distinct from (
    source.brands, source.products, source.in_stock, source.variants, source.on_special,
    source.lowest_cents, source.average_cents, source.highest_cents, source.price_changes, source.price_changed_at
) then
    update set brands = source.brands, products = source.products, in_stock = source.in_stock,
        variants = source.variants, on_special = source.on_special, lowest_cents = source.lowest_cents,
        average_cents = source.average_cents, highest_cents = source.highest_cents,
        price_changes = source.price_changes, price_changed_at = source.price_changed_at
when not matched then
    insert values (
        source.store_id, source.category, source.brands, source.products, source.in_stock, source.variants,
        source.on_special, source.lowest_cents, source.average_cents, source.highest_cents,
        source.price_changes, source.price_changed_at
    )
