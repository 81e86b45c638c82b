-- name: captured_options
-- returns: an option of a product in the crawl payloads of some time, the newest first; a payload without
--          options has one row
select
    snapshot.payload_id, snapshot.sequence, snapshot.captured_at, snapshot.availability::text, snapshot.in_stock as product_in_stock,
    variant.option, variant.price_rec_cents, variant.price_med_cents, variant.special_rec_cents, variant.special_med_cents,
    variant.quantity, variant.quantity_capped, variant.in_stock
from (
    select captured.payload_id, captured.product_id, captured.captured_at, captured.sequence,
        captured.availability, captured.in_stock
    from storecrawl.products as product
    join storecrawl.captured_products as captured
        on captured.product_id = product.id and captured.store_id = product.store_id
    where product.id = %(product_id)s
        and (%(since)s::timestamptz is null or captured.captured_at >= %(since)s)
        and (%(until)s::timestamptz is null or captured.captured_at < %(until)s)
        and (%(before)s::bigint is null or captured.sequence < %(before)s)
    order by captured.sequence desc
    limit %(limit)s
) as snapshot
left join storecrawl.captured_variants as variant
    on variant.payload_id = snapshot.payload_id and variant.product_id = snapshot.product_id
order by snapshot.sequence desc, variant.option
