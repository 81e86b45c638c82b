-- name: held_fields
-- Count the stores whose menus are held, and have been since their last applied one.
-- returns: a row per lost field, those of most stores first
select field, count(distinct held.store_id) as stores, min(held.fetched_at) as since,
    (array_agg(held.held_because order by held.sequence desc))[1] as because,
    (array_agg(held.id order by held.sequence desc))[1] as payload_id
from storecrawl.payloads as held
join storecrawl.stores as store on store.id = held.store_id and store.crawl_enabled
cross join lateral unnest(held.held_fields) as field
where held.held_fields is not null
    and not exists (
        select
        from storecrawl.payloads as later
        where later.store_id = held.store_id
            and later.applied_at is not null
            and later.sequence > held.sequence
    )
group by field
order by stores desc, field


-- name: failing_stores
-- Count the stores whose last attempt to fetch or to read a menu failed, by the class of the error. Held menus
-- are not counted.
-- returns: a row per class, those of most stores first; `lasting` stores failed three times in a row, or
--          permanently
with attempts as (
    select key, error, attempt >= 3 as is_lasting, coalesce(started_at, created_at) as failed_at
    from rolecall.all_tasks
    where finished_at is null
        and error is not null
        and role = any(%(roles)s)
    union all
    select key, error, true, finished_at
    from rolecall.all_tasks
    where state = 'failed'
        and finished_at > clock_timestamp() - %(within)s::interval
        and role = any(%(roles)s)
),
last_attempts as (
    select distinct on (store.id) store.id, summary.error, is_lasting, failed_at
    from attempts
    join storecrawl.stores as store on attempts.key = 'store:' || store.id
    cross join lateral (
        select regexp_replace(
            split_part(attempts.error, E'\n', 1), '^(rolecall\.model\.errors\.PermanentFailure: )?([a-z_]\w*\.)*', ''
        ) as error
    ) as summary
    where store.crawl_enabled
        and summary.error !~ '^(ImplausibleMenu|LostValues):'
        and not exists (
            select
            from storecrawl.payloads as later
            where later.store_id = store.id
                and later.applied_at is not null
                and later.fetched_at > failed_at
        )
    order by store.id, failed_at desc
)
select
    coalesce(substring(error from '^([A-Z]\w*):'), 'other errors') as error,
    count(*) as stores,
    count(*) filter (where is_lasting) as lasting,
    min(failed_at) as since,
    (array_agg(error order by failed_at desc))[1] as last
from last_attempts
group by 1
order by stores desc, 1


-- name: stale_stores
-- returns: how many of the stores that may be crawled have no menu since then, their total, and the time of the
--          oldest menu
select
    count(*) filter (where since < clock_timestamp() - %(within)s::interval) as stale,
    count(*) as stores,
    min(since) as oldest_at
from storecrawl.stores
cross join lateral (select coalesce(last_fetch_at, first_seen_at) as since) as menu
where crawl_enabled
    and platform is not null
    and platform_store_id is not null


-- name: known_fields
-- returns: the average share of known values of each field in the last applied menus of the stores, and the
--          number of these menus
select field, avg(share::double precision) as share, count(*) as menus
from storecrawl.stores as store
cross join lateral (
    select known_shares
    from storecrawl.payloads
    where store_id = store.id
        and applied_at is not null
    order by sequence desc
    limit 1
) as last
cross join lateral jsonb_each_text(last.known_shares) as known (field, share)
where store.crawl_enabled
group by field
order by field
