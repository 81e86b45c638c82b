-- name: variants_of_product
-- returns: the options of a product, the current ones first
select
    option, weight_value, weight_unit, dose_mg, pack_count, price_rec_cents, price_med_cents, special_rec_cents, special_med_cents,
    quantity, quantity_capped, in_stock, listed, sku
from storecrawl.variants
where product_id = %(product_id)s
order by listed desc, position, option


-- name: upsert_variants
-- Write the options of new and changed products, or add the unknown options of products that show a newer payload. A
-- correction is no change. The counted price changes are corrected with the history.
insert into storecrawl.variants as known (
    product_id, option, option_raw, position, weight_value, weight_unit, dose_mg, pack_count,
    price_rec_cents, price_med_cents, special_rec_cents, special_med_cents,
    quantity, quantity_capped, in_stock, listed, sku, canonical_id, canonical_name, first_seen_at, changed_at
)
select
    product_id, option, option_raw, position, weight_value, weight_unit, dose_mg, pack_count,
    price_rec_cents, price_med_cents, special_rec_cents, special_med_cents,
    quantity, quantity_capped, in_stock, %(listed)s, sku, canonical_id, canonical_name, %(fetched_at)s, %(fetched_at)s
from jsonb_to_recordset(%(variants)s::jsonb) as variant (
    product_id bigint, option text, option_raw text, position integer,
    weight_value numeric, weight_unit text, dose_mg numeric, pack_count integer,
    price_rec_cents integer, price_med_cents integer, special_rec_cents integer, special_med_cents integer,
    quantity integer, quantity_capped boolean, in_stock boolean,
    sku text, canonical_id text, canonical_name text
)
order by product_id, option
on conflict (product_id, option) do update
set option_raw = excluded.option_raw,
    position = excluded.position,
    weight_value = excluded.weight_value,
    weight_unit = excluded.weight_unit,
    dose_mg = excluded.dose_mg,
    pack_count = excluded.pack_count,
    price_rec_cents = excluded.price_rec_cents,
    price_med_cents = excluded.price_med_cents,
    special_rec_cents = excluded.special_rec_cents,
    special_med_cents = excluded.special_med_cents,
    quantity = excluded.quantity,
    quantity_capped = excluded.quantity_capped,
    in_stock = excluded.in_stock,
    listed = true,
    sku = excluded.sku,
    canonical_id = excluded.canonical_id,
    canonical_name = excluded.canonical_name,
    first_seen_at = least(known.first_seen_at, excluded.first_seen_at),
    changed_at = case when %(is_replay)s then known.changed_at else excluded.changed_at end
where %(listed)s
    and (not known.listed or (
        known.option_raw, known.position, known.weight_value, known.weight_unit,
        known.dose_mg, known.pack_count,
        known.price_rec_cents, known.price_med_cents, known.special_rec_cents, known.special_med_cents,
        known.quantity, known.quantity_capped, known.in_stock,
        known.sku, known.canonical_id, known.canonical_name
    ) is distinct from (
        excluded.option_raw, excluded.position,
        excluded.weight_value, excluded.weight_unit, excluded.dose_mg, excluded.pack_count,
        excluded.price_rec_cents, excluded.price_med_cents,
        excluded.special_rec_cents, excluded.special_med_cents,
        excluded.quantity, excluded.quantity_capped, excluded.in_stock,
        excluded.sku, excluded.canonical_id, excluded.canonical_name
    ))


-- name: unlist_variants
-- Unlist options that the newest state of their product no longer has; their rows stay.
update storecrawl.variants as known
set listed = false,
    in_stock = false,
    changed_at = case when %(is_replay)s then changed_at else %(fetched_at)s end
where known.product_id = any(%(product_ids)s)
    and known.listed
    and not exists (
        select
        from jsonb_to_recordset(%(variants)s::jsonb) as variant (product_id bigint, option text)
        where variant.product_id = known.product_id
            and variant.option = known.option
    )


-- name: empty_removed_variants
-- Set the options of removed products to out of stock.
update storecrawl.variants
set in_stock = false,
    changed_at = %(fetched_at)s
where product_id = any(%(product_ids)s)
    and in_stock
