-- returns: what is known of one crawl payload
select id, store_id, task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, applied_at
from storecrawl.payloads
where id = %(payload_id)s
