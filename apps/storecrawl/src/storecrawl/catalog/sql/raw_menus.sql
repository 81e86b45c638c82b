-- returns: a page of the raw menus of a store or one by its id, the newest fetch first, all or those that were refused
select id, store_id, task_id, payload_id, problem, storage_path, page_count, size_raw, size_gz, sha256, fetched_at,
    created_at, expired_at
from storecrawl.raw_menus
where (%(store_id)s::bigint is null or store_id = %(store_id)s)
    and (%(id)s::bigint is null or id = %(id)s)
    and (not %(refused)s or payload_id is null)
    and (fetched_at, id) < (
        coalesce((select fetched_at from storecrawl.raw_menus where id = %(before)s), 'infinity'::timestamptz),
        coalesce(%(before)s, 9223372036854775807)
    )
order by fetched_at desc, id desc
limit %(limit)s
