-- Keep each product as the payload had it; the second time adds none.
insert into storecrawl.product_snapshots (
    payload_id, product_id, store_id, captured_at, name, brand, category, subcategory, strain_type,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, availability, in_stock
)
select
    %(payload_id)s, product_id, %(store_id)s, %(fetched_at)s, name, brand, category, subcategory, strain_type,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, availability, in_stock
from jsonb_to_recordset(%(products)s::jsonb) as product (
    product_id bigint, name text, brand text, category text, subcategory text, strain_type text,
    thc_lo numeric, thc_hi numeric, thc_unit text, cbd_lo numeric, cbd_hi numeric, cbd_unit text,
    availability storecrawl.availability, in_stock boolean
)
order by product_id
on conflict (payload_id, product_id) do nothing
