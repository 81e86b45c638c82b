-- returns: everything that is known of one product
select
    product.id, product.store_id, store.name as store_name, product.external_id, product.slug, product.name, product.name_raw,
    product.brand_id, product.brand, product.category, product.category_raw, product.subcategory, product.strain_type,
    product.thc_lo, product.thc_hi, product.thc_unit, product.cbd_lo, product.cbd_hi, product.cbd_unit,
    product.description, product.image_url, product.availability, product.in_stock, product.listed_at,
    product.consecutive_misses, product.first_seen_at, product.last_seen_at, product.changed_at, product.last_payload_id
from storecrawl.products as product
join storecrawl.stores as store on store.id = product.store_id
where product.id = %(product_id)s
