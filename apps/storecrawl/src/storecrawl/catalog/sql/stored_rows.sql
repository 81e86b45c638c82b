-- name: stored_products
-- returns: the values of a store's products with their details
select
    product.external_id, product.slug, product.name, product.name_raw, product.brand, product.brand_raw,
    product.brand_external_id, product.category, product.category_raw, product.subcategory, product.subcategory_raw,
    product.strain_type, product.strain_type_raw, product.thc_lo, product.thc_hi, product.thc_unit,
    product.cbd_lo, product.cbd_hi, product.cbd_unit, product.description, product.image_url,
    product.availability::text, product.in_stock, product.rec_only, product.medical_only,
    product.listed_at, product.revised_at, product.consecutive_misses,
    details.effects::text, details.cannabinoids::text, details.terpenes::text, details.specials::text,
    details.tags, details.net_weight::text, details.volume::text
from storecrawl.products as product
left join storecrawl.product_details as details on details.product_id = product.id
where product.store_id = %(store_id)s


-- name: stored_options
-- returns: the values of the options of a store's products
select
    product.external_id, variant.option, variant.option_raw, variant.position, variant.weight_value,
    variant.weight_unit, variant.dose_mg, variant.pack_count, variant.price_rec_cents, variant.price_med_cents,
    variant.special_rec_cents, variant.special_med_cents, variant.quantity, variant.quantity_capped,
    variant.in_stock, variant.listed, variant.sku, variant.canonical_id, variant.canonical_name,
    variant.price_changes, variant.price_changed_at
from storecrawl.products as product
join storecrawl.variants as variant on variant.product_id = product.id
where product.store_id = %(store_id)s


-- name: stored_history
-- returns: the values of a payload's products in the history
select
    product.external_id, captured.name, captured.brand, captured.category, captured.subcategory,
    captured.strain_type, captured.thc_lo, captured.thc_hi, captured.thc_unit,
    captured.cbd_lo, captured.cbd_hi, captured.cbd_unit, captured.availability::text, captured.in_stock
from storecrawl.captured_products as captured
join storecrawl.products as product on product.id = captured.product_id
where captured.payload_id = %(payload_id)s


-- name: stored_option_history
-- returns: the values of a payload's options in the history
select
    product.external_id, captured.option, captured.price_rec_cents, captured.price_med_cents,
    captured.special_rec_cents, captured.special_med_cents, captured.quantity, captured.quantity_capped,
    captured.in_stock
from storecrawl.captured_variants as captured
join storecrawl.products as product on product.id = captured.product_id
where captured.payload_id = %(payload_id)s


-- name: stored_payloads
-- returns: the figures of a store's applied payloads
select id, complete, applied_count, refused_products, refused_options
from storecrawl.payloads
where store_id = %(store_id)s
    and applied_at is not null


-- name: stores_with_payloads
-- Search the stores with applied payloads, of all times or since one: all, one, or those of a platform.
-- returns: their ids, in order
select store.id
from storecrawl.stores as store
where (%(store_id)s::bigint is null or store.id = %(store_id)s)
    and (%(platform)s::text is null or store.platform = %(platform)s)
    and exists (
        select
        from storecrawl.payloads as payload
        where payload.store_id = store.id
            and payload.applied_at is not null
            and (%(since)s::timestamptz is null or payload.fetched_at >= %(since)s)
    )
order by store.id


-- name: set_change_times
-- Set when products last changed. Times that are right already are not written.
update storecrawl.products as product
set changed_at = changed.at
from unnest(%(external_ids)s::text[], %(times)s::timestamptz[]) as changed (external_id, at)
where product.store_id = %(store_id)s
    and product.external_id = changed.external_id
    and product.changed_at <> changed.at
