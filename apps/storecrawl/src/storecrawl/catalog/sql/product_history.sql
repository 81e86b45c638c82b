-- returns: a product and its options as the last crawl payloads had them, oldest first
select
    snapshot.payload_id, snapshot.captured_at, snapshot.availability, snapshot.in_stock, variant.option,
    coalesce(
        least(variant.price_rec_cents, variant.special_rec_cents),
        least(variant.price_med_cents, variant.special_med_cents)
    ) as cents,
    variant.special_rec_cents is not null or variant.special_med_cents is not null as on_special,
    variant.quantity
from (
    select payload_id, product_id, captured_at, availability, in_stock
    from storecrawl.product_snapshots
    where product_id = %(product_id)s
    order by captured_at desc, payload_id desc
    limit %(limit)s
) as snapshot
left join storecrawl.variant_snapshots as variant
    on variant.payload_id = snapshot.payload_id and variant.product_id = snapshot.product_id
order by snapshot.captured_at, snapshot.payload_id, variant.option
