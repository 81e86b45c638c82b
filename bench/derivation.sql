-- %(stores)s stores with menus of 400 products with 800 options each, as crawls leave them.
insert into storecrawl.stores (platform_store_id, name, state, fetches)
select 'p' || n, 'Store ' || n, (array['AZ', 'CA', 'CO', 'MI', 'NV'])[1 + n %% 5], 1
from generate_series(1, %(stores)s) as n;

insert into storecrawl.payloads (store_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, sequence, applied_at, applied_count, complete)
select id, 'payload-' || id, 400, 1, 1, repeat('0', 64), clock_timestamp() - interval '1 hour', 1, clock_timestamp(), 400, true
from storecrawl.stores;

insert into storecrawl.brands (name, slug)
select 'Brand ' || n, 'brand-' || n
from generate_series(1, 2000) as n;

insert into storecrawl.products (
    store_id, external_id, name, name_raw, brand_id, brand, category, availability, in_stock, content_hash,
    first_seen_at, changed_at
)
select
    payload.store_id, 'x' || n, 'Product ' || n, 'Product ' || n, brand.id, brand.name,
    (array['flower', 'edibles', 'vaporizers', 'pre_rolls', 'concentrates'])[1 + n %% 5],
    'in_stock', true, '\x00', payload.fetched_at, payload.fetched_at
from storecrawl.payloads as payload
cross join generate_series(1, 400) as n
join storecrawl.brands as brand on brand.id = 1 + (payload.store_id * 37 + (n %% 40) * 53) %% 2000
order by payload.store_id, n;

insert into storecrawl.variants (
    product_id, option, option_raw, position, price_rec_cents, quantity_capped, in_stock, first_seen_at, changed_at
)
select id, size.option, size.option, size.position, 1000 + (id %% 50)::integer * 100 * (1 + size.position), false, true, first_seen_at, first_seen_at
from storecrawl.products
cross join (values ('1g', 0), ('3.5g', 1)) as size (option, position)
order by id, size.position;

analyze
