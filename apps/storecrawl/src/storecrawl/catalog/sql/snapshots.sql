-- name: product_history
-- returns: a product and its options in the last crawl payloads, oldest first
select
    snapshot.payload_id, snapshot.captured_at, snapshot.availability, snapshot.in_stock, variant.option,
    coalesce(
        least(variant.price_rec_cents, variant.special_rec_cents),
        least(variant.price_med_cents, variant.special_med_cents)
    ) as cents,
    variant.special_rec_cents is not null or variant.special_med_cents is not null as on_special,
    variant.quantity
from (
    select captured.payload_id, captured.product_id, captured.captured_at, captured.sequence,
        captured.availability, captured.in_stock
    from storecrawl.products as product
    join storecrawl.captured_products as captured
        on captured.product_id = product.id and captured.store_id = product.store_id
    where product.id = %(product_id)s
    order by captured.sequence desc
    limit %(limit)s
) as snapshot
left join storecrawl.captured_variants as variant
    on variant.payload_id = snapshot.payload_id and variant.product_id = snapshot.product_id
order by snapshot.sequence, variant.option


-- name: write_product_snapshots
-- Store each product as the payload had it, under the payload that it repeats. Repeating it writes none.
insert into storecrawl.product_snapshots as known (
    payload_id, product_id, store_id, captured_at, name, brand, category, subcategory, strain_type,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, availability, in_stock
)
select
    kept.payload_id, product_id, %(store_id)s, kept.fetched_at, name, brand, category, subcategory, strain_type,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, availability, in_stock
from jsonb_to_recordset(%(products)s::jsonb) as product (
    product_id bigint, name text, brand text, category text, subcategory text, strain_type text,
    thc_lo numeric, thc_hi numeric, thc_unit text, cbd_lo numeric, cbd_hi numeric, cbd_unit text,
    availability storecrawl.availability, in_stock boolean
)
cross join (
    select original.id as payload_id, original.fetched_at
    from storecrawl.payloads as this
    join storecrawl.payloads as original on original.id = coalesce(this.repeats, this.id)
    where this.id = %(payload_id)s
) as kept
order by product_id
on conflict (payload_id, product_id) do update
set name = excluded.name,
    brand = excluded.brand,
    category = excluded.category,
    subcategory = excluded.subcategory,
    strain_type = excluded.strain_type,
    thc_lo = excluded.thc_lo,
    thc_hi = excluded.thc_hi,
    thc_unit = excluded.thc_unit,
    cbd_lo = excluded.cbd_lo,
    cbd_hi = excluded.cbd_hi,
    cbd_unit = excluded.cbd_unit,
    availability = excluded.availability,
    in_stock = excluded.in_stock
where (
    known.name, known.brand, known.category, known.subcategory, known.strain_type,
    known.thc_lo, known.thc_hi, known.thc_unit, known.cbd_lo, known.cbd_hi, known.cbd_unit,
    known.availability, known.in_stock
) is distinct from (
    excluded.name, excluded.brand, excluded.category, excluded.subcategory, excluded.strain_type,
    excluded.thc_lo, excluded.thc_hi, excluded.thc_unit, excluded.cbd_lo, excluded.cbd_hi, excluded.cbd_unit,
    excluded.availability, excluded.in_stock
)


-- name: write_variant_snapshots
-- Store each option as the payload had it, under the payload that it repeats. Repeating it writes none.
insert into storecrawl.variant_snapshots as known (
    payload_id, product_id, option, captured_at, price_rec_cents, price_med_cents,
    special_rec_cents, special_med_cents, quantity, quantity_capped, in_stock
)
select
    kept.payload_id, product_id, option, kept.fetched_at, price_rec_cents, price_med_cents,
    special_rec_cents, special_med_cents, quantity, quantity_capped, in_stock
from jsonb_to_recordset(%(variants)s::jsonb) as variant (
    product_id bigint, option text, price_rec_cents integer, price_med_cents integer,
    special_rec_cents integer, special_med_cents integer, quantity integer, quantity_capped boolean,
    in_stock boolean
)
cross join (
    select original.id as payload_id, original.fetched_at
    from storecrawl.payloads as this
    join storecrawl.payloads as original on original.id = coalesce(this.repeats, this.id)
    where this.id = %(payload_id)s
) as kept
order by product_id, option
on conflict (payload_id, product_id, option) do update
set price_rec_cents = excluded.price_rec_cents,
    price_med_cents = excluded.price_med_cents,
    special_rec_cents = excluded.special_rec_cents,
    special_med_cents = excluded.special_med_cents,
    quantity = excluded.quantity,
    quantity_capped = excluded.quantity_capped,
    in_stock = excluded.in_stock
where (
    known.price_rec_cents, known.price_med_cents, known.special_rec_cents, known.special_med_cents,
    known.quantity, known.quantity_capped, known.in_stock
) is distinct from (
    excluded.price_rec_cents, excluded.price_med_cents, excluded.special_rec_cents, excluded.special_med_cents,
    excluded.quantity, excluded.quantity_capped, excluded.in_stock
)


-- name: remove_other_snapshots
-- Remove the snapshots of products and options that a payload does not have, after it was read again.
-- returns: nothing
with kept as (
    select coalesce(repeats, id) as payload_id
    from storecrawl.payloads
    where id = %(payload_id)s
),
other_products as (
    delete from storecrawl.product_snapshots as snapshot
    using kept
    where snapshot.payload_id = kept.payload_id
        and not exists (
            select
            from jsonb_to_recordset(%(products)s::jsonb) as product (product_id bigint)
            where product.product_id = snapshot.product_id
        )
)
delete from storecrawl.variant_snapshots as snapshot
using kept
where snapshot.payload_id = kept.payload_id
    and not exists (
        select
        from jsonb_to_recordset(%(variants)s::jsonb) as variant (product_id bigint, option text)
        where variant.product_id = snapshot.product_id
            and variant.option = snapshot.option
    )
