-- Enter a written file, once a path, and note the fetch at its store, which is blocked no more.
-- returns: id of the payload
with recorded as (
    insert into storecrawl.payloads as known (
        store_id, task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at
    )
    values (
        %(store_id)s, %(task_id)s, %(path)s, %(product_count)s, %(size_raw)s, %(size_gz)s, %(sha256)s,
        %(fetched_at)s
    )
    on conflict (storage_path) do update
    set storage_path = excluded.storage_path
    where (known.store_id, known.sha256, known.fetched_at)
        = (excluded.store_id, excluded.sha256, excluded.fetched_at)
    returning known.id, known.store_id, known.fetched_at
),
noted as (
    update storecrawl.stores as store
    set last_fetch_at = greatest(store.last_fetch_at, recorded.fetched_at)
    from recorded
    where store.id = recorded.store_id
),
let_in as (
    delete from storecrawl.blocked_stores as blocked
    using recorded
    where blocked.store_id = recorded.store_id
)
select id
from recorded
