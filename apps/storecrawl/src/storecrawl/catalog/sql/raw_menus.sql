-- name: list_raw_menus
-- returns: a page of raw menus, the newest fetch first: of a store or one by id, all or only the refused
--          ones
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


-- name: refused_beyond
-- returns: a store's raw menus without a payload whose file exists, except for the newest ones
select id
from storecrawl.raw_menus
where store_id = %(store_id)s
    and payload_id is null
    and expired_at is null
order by fetched_at desc, id desc
offset %(newest)s


-- name: newest_menu
-- returns: the response digests and the document of a store's newest payload; no row if its file was
--          removed
select raw.digests, newest.storage_path as path, newest.sha256, newest.size_raw, newest.size_gz, newest.product_count
from (
    select id, storage_path, sha256, size_raw, size_gz, product_count, expired_at
    from storecrawl.payloads
    where store_id = %(store_id)s
    order by sequence desc
    limit 1
) as newest
join storecrawl.raw_menus as raw on raw.payload_id = newest.id
where newest.expired_at is null
    and newest.product_count > 0
    and raw.digests <> '{}'


-- name: newest_base
-- returns: the full file on which a store's newest raw menu with a payload is based, or its own file if that is full
select coalesce(base_path, storage_path)
from storecrawl.raw_menus
where store_id = %(store_id)s
    and expired_at is null
    and payload_id is not null
order by fetched_at desc, id desc
limit 1


-- name: record_raw_menu
-- returns: id of the raw menu
insert into storecrawl.raw_menus (
    store_id, task_id, payload_id, problem, storage_path, base_path, page_count, size_raw, size_gz, sha256,
    fetched_at, digests
)
values (
    %(store_id)s, %(task_id)s, %(payload_id)s, %(problem)s, %(path)s, %(base_path)s, %(page_count)s, %(size_raw)s, %(size_gz)s,
    %(sha256)s, %(fetched_at)s, %(digests)s
)
returning id


-- name: mark_raw_expired
-- Give up the files of raw menus.
-- returns: nothing
update storecrawl.raw_menus
set expired_at = clock_timestamp()
where id = any(%(ids)s)
    and expired_at is null
