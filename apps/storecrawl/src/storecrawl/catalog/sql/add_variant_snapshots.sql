-- Keep each option as the payload had it; the second time adds none.
insert into storecrawl.variant_snapshots (
    payload_id, product_id, option, captured_at, price_rec_cents, price_med_cents,
    special_rec_cents, special_med_cents, quantity, quantity_capped, in_stock
)
select
    %(payload_id)s, product_id, option, %(fetched_at)s, price_rec_cents, price_med_cents,
    special_rec_cents, special_med_cents, quantity, quantity_capped, in_stock
from jsonb_to_recordset(%(variants)s::jsonb) as variant (
    product_id bigint, option text, price_rec_cents integer, price_med_cents integer,
    special_rec_cents integer, special_med_cents integer, quantity integer, quantity_capped boolean,
    in_stock boolean
)
order by product_id, option
on conflict (payload_id, product_id, option) do nothing
