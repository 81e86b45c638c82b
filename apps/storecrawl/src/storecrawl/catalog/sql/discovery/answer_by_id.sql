-- returns: one discovery payload
select id, kind, subject, task_id, storage_path, record_count, size_raw, size_gz, sha256, fetched_at
from storecrawl.discovery_payloads
where id = %(answer_id)s
