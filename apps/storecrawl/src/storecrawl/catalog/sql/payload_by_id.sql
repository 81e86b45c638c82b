-- returns: what is known of one crawl payload
select id, store_id, task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, created_at,
    applied_at, applied_count, complete, expired_at
from storecrawl.payloads
where id = %(payload_id)s
