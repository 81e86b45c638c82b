-- Enter a raw answer's file, once a path.
-- returns: id of the discovery payload
insert into storecrawl.discovery_payloads as known (
    kind, subject, task_id, storage_path, record_count, size_raw, size_gz, sha256
)
values (
    %(kind)s, %(subject)s, %(task_id)s, %(path)s, %(record_count)s, %(size_raw)s, %(size_gz)s, %(sha256)s
)
returning id
