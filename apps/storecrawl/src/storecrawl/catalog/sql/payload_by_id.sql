-- returns: what is known of one crawl payload
select id, store_id, task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, created_at,
    applied_at, applied_count, complete, refused_products, refused_options, expired_at,
    (select raw.id from storecrawl.raw_menus as raw where raw.payload_id = payloads.id) as raw_menu_id
from storecrawl.payloads
where id = %(payload_id)s
