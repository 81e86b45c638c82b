-- returns: id of the raw menu
insert into storecrawl.raw_menus (
    store_id, task_id, payload_id, problem, storage_path, page_count, size_raw, size_gz, sha256, fetched_at
)
values (
    %(store_id)s, %(task_id)s, %(payload_id)s, %(problem)s, %(path)s, %(page_count)s, %(size_raw)s, %(size_gz)s,
    %(sha256)s, %(fetched_at)s
)
returning id
