-- returns: a page of a store's crawl payloads, the newest fetch first; the next page is what was before its last one
select id, store_id, task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, created_at,
    applied_at, applied_count, complete, refused_products, refused_options, expired_at,
    (select raw.id from storecrawl.raw_menus as raw where raw.payload_id = payloads.id) as raw_menu_id
from storecrawl.payloads
where store_id = %(store_id)s
    and (fetched_at, id) < (
        coalesce((select fetched_at from storecrawl.payloads where id = %(before)s), 'infinity'::timestamptz),
        coalesce(%(before)s, 9223372036854775807)
    )
order by fetched_at desc, id desc
limit %(limit)s
