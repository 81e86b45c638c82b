-- name: take_changes
-- Take the whole change log, and set its mark.
-- returns: the changed stores; whether anything was logged; whether the mark was missing, so that entries
--          may be lost
with taken as (
    delete from storecrawl.product_changes
    returning stores
),
marked as (
    insert into storecrawl.change_log_mark
    default values
    on conflict do nothing
    returning set_at
)
select
    array(
        select distinct store_id
        from taken
        cross join lateral unnest(taken.stores) as range
        cross join lateral generate_series(lower(range), upper(range) - 1) as store_id
        order by store_id
    ) as stores,
    exists (select from taken) as logged,
    exists (select from marked) as unmarked


-- name: begin_round
-- Record the start of a round. The next one starts after a pause, and after twice the duration of the last
-- one.
update storecrawl.derivation
set began_at = clock_timestamp(),
    ended_at = null,
    stores = %(stores)s,
    views_out_of_date = views_out_of_date or %(logged)s,
    next_round_at = rolecall.clock() + greatest(%(pause)s::interval, 2 * coalesce(ended_at - began_at, interval '0'))


-- name: count_stores
-- Count the menus of stores again, without those of dark stores: overwrite the partials that differ, and record their brands.
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
        and not exists (
            select
            from storecrawl.stores
            where id = product.store_id
                and dark_since is not null
        )
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


-- name: log_is_marked
-- returns: a row unless the server has crashed since the round began, which empties the partials
select set_at
from storecrawl.change_log_mark


-- name: take_touched_brands
-- Take the brands whose partials have changed.
-- returns: their ids
with taken as (
    delete from storecrawl.touched_brands
    returning brand_id
)
select distinct brand_id
from taken
order by brand_id


-- name: merge_brand_statistics
-- Merge the partials of some brands, or of all (null), into the statistics; delete those of brands on no
-- menu.
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


-- name: merge_store_statistics
-- Merge the partials of some stores, or of all (null), into the statistics; delete categories without
-- products.
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


-- name: end_round
-- Record that the statistics are merged.
update storecrawl.derivation
set ended_at = clock_timestamp()


-- name: claim_views
-- Mark the views as up to date, unless they are.
-- returns: a row if they were not
update storecrawl.derivation
set views_out_of_date = false
where views_out_of_date
returning only_one


-- name: list_views
-- returns: the materialized views of the schema and whether each is populated, by name
select matviewname, ispopulated
from pg_catalog.pg_matviews
where schemaname = 'storecrawl'
order by matviewname
