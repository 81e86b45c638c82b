-- returns: a page of discovery payloads, the newest first; of one kind and subject where they are given
select id, kind, subject, task_id, storage_path, record_count, size_raw, size_gz, sha256, fetched_at
from storecrawl.discovery_payloads
where (%(before)s::bigint is null or id < %(before)s)
    and (%(kind)s::text is null or kind = %(kind)s)
    and (%(subject)s::text is null or subject = %(subject)s)
order by id desc
limit %(limit)s
