-- name: list_answers
-- returns: a page of discovery payloads, the newest first; optionally of one kind and subject
select id, platform, kind, subject, task_id, storage_path, record_count, size_raw, size_gz, sha256, fetched_at
from storecrawl.discovery_payloads
where (%(before)s::bigint is null or id < %(before)s)
    and (%(kind)s::text is null or kind = %(kind)s)
    and (%(subject)s::text is null or subject = %(subject)s)
order by id desc
limit %(limit)s


-- name: answer_by_id
-- returns: one discovery payload
select id, platform, kind, subject, task_id, storage_path, record_count, size_raw, size_gz, sha256, fetched_at
from storecrawl.discovery_payloads
where id = %(answer_id)s


-- name: record_answer
-- Record the file of a raw response, once per path.
-- returns: id of the discovery payload
insert into storecrawl.discovery_payloads as known (
    platform, kind, subject, task_id, storage_path, record_count, size_raw, size_gz, sha256
)
values (
    %(platform)s, %(kind)s, %(subject)s, %(task_id)s, %(path)s, %(record_count)s, %(size_raw)s, %(size_gz)s,
    %(sha256)s
)
returning id
