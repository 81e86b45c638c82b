-- Count the menus of some stores anew: partials are overwritten where they differ, and brands noted whose partials did.
-- returns: how many partials changed
with sold as (
    select
        product.store_id, coalesce(product.brand_id, 0) as brand_id, coalesce(product.category, '') as category,
        product.in_stock,
        count(variant.id)::integer as variants,
        count(*) filter (where variant.is_on_special)::integer as on_special,
        count(cents)::integer as priced,
        min(cents) as lowest_cents,
        max(cents) as highest_cents,
        sum(cents) as total_cents,
        coalesce(sum(variant.price_changes), 0) as price_changes,
        max(variant.price_changed_at) as price_changed_at
    from storecrawl.products as product
    left join storecrawl.variants as variant on variant.product_id = product.id and variant.listed
    cross join lateral (
        select coalesce(
            least(variant.price_rec_cents, variant.special_rec_cents),
            least(variant.price_med_cents, variant.special_med_cents)
        ) as cents
    ) as paid
    where product.store_id = any(%(stores)s::bigint[])
        and product.availability <> 'removed_from_menu'
    group by product.id
),
fresh as materialized (
    select
        store_id, brand_id, category,
        count(*)::integer as products,
        count(*) filter (where in_stock)::integer as in_stock,
        sum(variants)::integer as variants,
        sum(on_special)::integer as on_special,
        sum(priced)::integer as priced,
        min(lowest_cents) as lowest_cents,
        max(highest_cents) as highest_cents,
        sum(total_cents)::bigint as total_cents,
        sum(price_changes)::bigint as price_changes,
        max(price_changed_at) as price_changed_at
    from sold
    group by store_id, brand_id, category
),
known as materialized (
    select *
    from storecrawl.store_partials
    where store_id = any(%(stores)s::bigint[])
),
gone as (
    delete from storecrawl.store_partials as partial
    using known
    where partial.store_id = known.store_id
        and (partial.brand_id, partial.category) = (known.brand_id, known.category)
        and not exists (
            select
            from fresh
            where (fresh.store_id, fresh.brand_id, fresh.category) = (known.store_id, known.brand_id, known.category)
        )
    returning partial.brand_id
),
written as (
    insert into storecrawl.store_partials
    select *
    from fresh
    where not exists (
        select
        from known
        where (known.store_id, known.brand_id, known.category) = (fresh.store_id, fresh.brand_id, fresh.category)
            and row(known.*) is not distinct from row(fresh.*)
    )
    order by store_id, brand_id, category
    on conflict (store_id, brand_id, category) do update
    set products = excluded.products,
        in_stock = excluded.in_stock,
        variants = excluded.variants,
        on_special = excluded.on_special,
        priced = excluded.priced,
        lowest_cents = excluded.lowest_cents,
        highest_cents = excluded.highest_cents,
        total_cents = excluded.total_cents,
        price_changes = excluded.price_changes,
        price_changed_at = excluded.price_changed_at
    returning brand_id
),
noted as (
    insert into storecrawl.touched_brands (brand_id)
    select brand_id
    from (select brand_id from gone union select brand_id from written) as touched
    where brand_id <> 0
)
select (select count(*) from gone) + (select count(*) from written)
