-- name: list_payloads
-- returns: a page of crawl payloads, the newest fetch first, before the last one of the previous page
select id, store_id, (select platform from storecrawl.stores where stores.id = store_id) as platform,
    task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, created_at,
    applied_at, applied_count, complete, refused_products, refused_options, expired_at,
    known_shares, held_fields, held_because,
    (select raw.id from storecrawl.raw_menus as raw where raw.payload_id = payloads.id) as raw_menu_id
from storecrawl.payloads
where (fetched_at, id) < (
        coalesce((select fetched_at from storecrawl.payloads where id = %(before)s), 'infinity'::timestamptz),
        coalesce(%(before)s, 9223372036854775807)
    )
order by fetched_at desc, id desc
limit %(limit)s


-- name: list_payloads_of_store
-- returns: a page of a store's crawl payloads, the newest fetch first, before the last one of the previous
--          page
select id, store_id, (select platform from storecrawl.stores where stores.id = store_id) as platform,
    task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, created_at,
    applied_at, applied_count, complete, refused_products, refused_options, expired_at,
    known_shares, held_fields, held_because,
    (select raw.id from storecrawl.raw_menus as raw where raw.payload_id = payloads.id) as raw_menu_id
from storecrawl.payloads
where store_id = %(store_id)s
    and sequence < coalesce((select sequence from storecrawl.payloads where id = %(before)s), 2147483647)
order by sequence desc
limit %(limit)s


-- name: payload_by_id
-- returns: one crawl payload
select id, store_id, (select platform from storecrawl.stores where stores.id = store_id) as platform,
    task_id, storage_path, product_count, size_raw, size_gz, sha256, fetched_at, created_at,
    applied_at, applied_count, complete, refused_products, refused_options, expired_at,
    known_shares, held_fields, held_because,
    (select raw.id from storecrawl.raw_menus as raw where raw.payload_id = payloads.id) as raw_menu_id
from storecrawl.payloads
where id = %(payload_id)s


-- name: lock_files
-- Run one change of a store's files at a time: removals wait for rows that are being written, and the reverse.
-- locks: the store's row
select id
from storecrawl.stores
where id = %(store_id)s
for no key update


-- name: needed_files
-- returns: the paths of files that rows of these stores need: their own files and the bases of those
with kept as (
    select storage_path, base_path
    from storecrawl.payloads
    where store_id = any(%(stores)s)
        and expired_at is null
    union
    select storage_path, base_path
    from storecrawl.raw_menus
    where store_id = any(%(stores)s)
        and expired_at is null
)
select storage_path
from kept
union
select base_path
from kept
where base_path is not null


-- name: paths_without_answer
-- returns: the paths that no discovery payload names
select path
from unnest(%(paths)s::text[]) as path
where not exists (select from storecrawl.discovery_payloads where storage_path = path)


-- name: record_payload
-- Record a stored file, once per fetch, and the fetch of its store, which is unblocked. A payload that a newer fetch
-- has overtaken does not become the store's last one.
-- returns: id of the payload
with recorded as (
    insert into storecrawl.payloads as known (
        store_id, task_id, storage_path, base_path, product_count, size_raw, size_gz, sha256, fetched_at,
        sequence
    )
    values (
        %(store_id)s, %(task_id)s, %(path)s, %(base_path)s, %(product_count)s, %(size_raw)s, %(size_gz)s, %(sha256)s,
        %(fetched_at)s, %(sequence)s
    )
    on conflict (store_id, sequence) do update
    set storage_path = excluded.storage_path
    where (known.sha256, known.fetched_at) = (excluded.sha256, excluded.fetched_at)
    returning known.id, known.store_id, known.fetched_at, known.sequence
),
noted as (
    update storecrawl.stores as store
    set last_fetch_at = recorded.fetched_at,
        same_id_finds = 0
    from recorded
    where store.id = recorded.store_id
        and not exists (
            select
            from storecrawl.payloads
            where store_id = recorded.store_id
                and sequence > recorded.sequence
        )
),
let_in as (
    delete from storecrawl.blocked_stores as blocked
    using recorded
    where blocked.store_id = recorded.store_id
)
select id
from recorded


-- name: lock_store
-- Run one refresh of a store at a time: a second one waits here.
-- returns: the number of the payload's fetch if the payload is of this store
-- locks: the store's row
with store as (
    select id
    from storecrawl.stores
    where id = %(store_id)s
    for no key update
)
select payload.sequence
from storecrawl.payloads as payload
join store on store.id = payload.store_id
where payload.id = %(payload_id)s
    and payload.fetched_at = %(fetched_at)s


-- name: read_history
-- Read a payload's position in its store's history, after the store is locked.
-- returns: whether it was applied before; whether the store is dark; how many newer complete payloads were
--          applied; the size of the last one applied before it and its shares of known values; how many
--          fetches between the two were below the share of that size, and the shares of known values of the
--          read ones
with earlier as (
    select sequence, applied_count, known_shares
    from storecrawl.payloads
    where store_id = %(store_id)s
        and applied_at is not null
        and sequence < %(sequence)s
    order by sequence desc
    limit 1
)
select
    (select applied_at is not null from storecrawl.payloads where id = %(payload_id)s) as applied,
    (select dark_since is not null from storecrawl.stores where id = %(store_id)s) as is_dark,
    (
        select count(*)
        from storecrawl.payloads
        where store_id = %(store_id)s
            and complete
            and sequence > %(sequence)s
    ) as newer,
    (select applied_count from earlier) as last_count,
    (
        select count(*)
        from storecrawl.payloads as between_them, earlier
        where between_them.store_id = %(store_id)s
            and between_them.sequence > earlier.sequence
            and between_them.sequence < %(sequence)s
            and between_them.product_count < earlier.applied_count * %(smallest_share)s::numeric
    ) as as_small,
    (select known_shares from earlier) as last_shares,
    array(
        select between_them.known_shares
        from storecrawl.payloads as between_them, earlier
        where between_them.store_id = %(store_id)s
            and between_them.sequence > earlier.sequence
            and between_them.sequence < %(sequence)s
            and between_them.known_shares is not null
    ) as later_shares


-- name: mark_applied
-- Mark a payload as applied. A replay keeps the time of the first application.
update storecrawl.payloads
set applied_at = coalesce(applied_at, clock_timestamp()),
    applied_count = %(applied_count)s,
    complete = %(complete)s,
    catalog_version = %(catalog_version)s,
    known_shares = %(known_shares)s::jsonb,
    held_fields = null,
    held_because = null
where id = %(payload_id)s


-- name: hold_payload
-- Record why a payload is not applied, until it is applied.
update storecrawl.payloads
set known_shares = %(known_shares)s::jsonb,
    held_fields = %(fields)s,
    held_because = %(because)s
where id = %(payload_id)s
    and applied_at is null


-- name: repeat_payload
-- Apply a payload with the same document as the store's last applied one, after the store is locked. That
-- one must have this catalog version. A payload with more refusals than fit in rows must be read again, and so must
-- the first menu of a store that was dark.
-- returns: the last one, its number of products, and of refused products and options; no row if it differs
with last as (
    select id, sequence, sha256, size_raw, applied_count, complete, refused_products, refused_options,
        catalog_version, known_shares, repeats
    from storecrawl.payloads
    where store_id = %(store_id)s
        and applied_at is not null
    order by sequence desc
    limit 1
)
update storecrawl.payloads as this
set applied_at = clock_timestamp(),
    applied_count = last.applied_count,
    complete = last.complete,
    refused_products = last.refused_products,
    refused_options = last.refused_options,
    catalog_version = last.catalog_version,
    known_shares = last.known_shares,
    held_fields = null,
    held_because = null,
    repeats = coalesce(last.repeats, last.id)
from last
where this.id = %(payload_id)s
    and this.applied_at is null
    and this.sequence > last.sequence
    and (this.sha256, this.size_raw) = (last.sha256, last.size_raw)
    and last.complete
    and last.catalog_version = %(catalog_version)s
    and last.refused_products + last.refused_options <= %(most)s
    and not exists (
        select
        from storecrawl.stores
        where id = %(store_id)s
            and dark_since is not null
    )
returning last.id, last.applied_count, last.refused_products, last.refused_options


-- name: expirable_payloads
-- Excludes the newest payloads of each store, those never applied, and those that an open task will read.
-- returns: payloads of the next stores whose files the retention policy does not keep
with next_stores as (
    select id
    from storecrawl.stores
    where id > %(after)s
    order by id
    limit %(stores)s
),
wanted as (
    select (payload ->> 'payload_id')::bigint as payload_id
    from rolecall.all_tasks
    where finished_at is null
        and handler = 'product_refresh'
)
select next_stores.id as store_id, old.id
from next_stores
left join lateral (
    select each.id, each.fetched_at, each.applied_at
    from storecrawl.payloads as each
    where each.store_id = next_stores.id
        and each.expired_at is null
    order by each.sequence desc
    offset %(newest)s
) as old on old.applied_at is not null
    and old.fetched_at < %(before)s
    and old.id not in (select payload_id from wanted where payload_id is not null)
order by next_stores.id, old.id


-- name: mark_expired
-- Give up the files of payloads and of their raw menus.
-- returns: nothing
with raw as (
    update storecrawl.raw_menus
    set expired_at = clock_timestamp()
    where payload_id = any(%(ids)s)
        and expired_at is null
)
update storecrawl.payloads
set expired_at = clock_timestamp()
where id = any(%(ids)s)
    and expired_at is null
