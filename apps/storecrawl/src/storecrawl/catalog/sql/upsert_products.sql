-- Write new and changed products whole; the caller has left out what newer payloads wrote.
-- returns: id and external id of each
insert into storecrawl.products as known (
    store_id, external_id, slug, name, name_raw, brand_id, brand, brand_raw, brand_external_id,
    category, category_raw, subcategory, subcategory_raw, strain_type, strain_type_raw,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, description, image_url,
    availability, in_stock, listed_at, content_hash, consecutive_misses,
    first_seen_at, last_seen_at, changed_at, last_fetched_at, last_payload_id
)
select
    %(store_id)s, product.external_id, product.slug, product.name, name_raw,
    entered.id, product.brand, brand_raw, brand_external_id,
    category, category_raw, subcategory, subcategory_raw, strain_type, strain_type_raw,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, description, image_url,
    availability, in_stock, listed_at, decode(content_hash, 'hex'), misses,
    %(fetched_at)s, %(fetched_at)s, %(fetched_at)s, %(fetched_at)s, %(payload_id)s
from jsonb_to_recordset(%(products)s::jsonb) as product (
    external_id text, slug text, name text, name_raw text, brand text, brand_raw text, brand_external_id text,
    category text, category_raw text, subcategory text, subcategory_raw text,
    strain_type text, strain_type_raw text,
    thc_lo numeric, thc_hi numeric, thc_unit text, cbd_lo numeric, cbd_hi numeric, cbd_unit text,
    description text, image_url text, availability storecrawl.availability, in_stock boolean,
    listed_at timestamptz, content_hash text, misses integer
)
left join storecrawl.brands as entered on entered.slug = storecrawl.brand_slug(product.brand)
order by product.external_id
on conflict (store_id, external_id) do update
set slug = excluded.slug,
    name = excluded.name,
    name_raw = excluded.name_raw,
    brand_id = excluded.brand_id,
    brand = excluded.brand,
    brand_raw = excluded.brand_raw,
    brand_external_id = excluded.brand_external_id,
    category = excluded.category,
    category_raw = excluded.category_raw,
    subcategory = excluded.subcategory,
    subcategory_raw = excluded.subcategory_raw,
    strain_type = excluded.strain_type,
    strain_type_raw = excluded.strain_type_raw,
    thc_lo = excluded.thc_lo,
    thc_hi = excluded.thc_hi,
    thc_unit = excluded.thc_unit,
    cbd_lo = excluded.cbd_lo,
    cbd_hi = excluded.cbd_hi,
    cbd_unit = excluded.cbd_unit,
    description = excluded.description,
    image_url = excluded.image_url,
    availability = excluded.availability,
    in_stock = excluded.in_stock,
    listed_at = excluded.listed_at,
    content_hash = excluded.content_hash,
    consecutive_misses = excluded.consecutive_misses,
    first_seen_at = least(known.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at),
    changed_at = case
        when known.content_hash = excluded.content_hash then known.changed_at
        else excluded.changed_at
    end,
    last_fetched_at = excluded.last_fetched_at,
    last_payload_id = excluded.last_payload_id
returning known.id, known.external_id
