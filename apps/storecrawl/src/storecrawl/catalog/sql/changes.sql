-- name: lock_feed
-- Let one transaction at a time publish or delete changes.
-- returns: the last published position
-- locks: the row of the feed
select published
from storecrawl.change_feed
for update


-- name: publish
-- Give the next unpublished changes their positions, after the feed is locked.
-- returns: how many there were
with next_ones as (
    select id, row_number() over (order by id) as place
    from (
        select id
        from storecrawl.catalog_changes
        where position is null
        order by id
        limit %(most)s
    ) as unpublished
),
placed as (
    update storecrawl.catalog_changes as change
    set position = %(published)s + next_ones.place
    from next_ones
    where change.id = next_ones.id
)
update storecrawl.change_feed
set published = %(published)s + (select count(*) from next_ones)
returning published - %(published)s


-- name: feed
-- returns: the last position in the feed, and the last one that retention has deleted
select published, dropped
from storecrawl.change_feed


-- name: changes_between
-- returns: the matching changes after one position up to another, all or those at some positions, in order
select
    change.position, change.kind::text, change.at, change.store_id, store.name as store_name,
    change.product_id, product.name as product_name, product.brand, product.category, change.option,
    change.old, change.new, change.sequence
from storecrawl.catalog_changes as change
left join storecrawl.stores as store on store.id = change.store_id
left join storecrawl.products as product on product.id = change.product_id
where change.position > %(after)s
    and change.position <= %(last)s
    and (%(kinds)s::text[] is null or change.kind = any(%(kinds)s::text[]::storecrawl.change_kind[]))
    and (%(store_id)s::bigint is null or change.store_id = %(store_id)s)
    and (%(positions)s::bigint[] is null or change.position = any(%(positions)s))
order by change.position
limit %(limit)s


-- name: expire
-- Delete the oldest published changes, after the feed is locked: those up to the last one that is old enough.
-- returns: how many were deleted
with outdated as (
    select position
    from (
        select position, at
        from storecrawl.catalog_changes
        where position is not null
        order by position
        limit %(most)s
    ) as oldest
    where at < clock_timestamp() - %(older_than)s::interval
),
deleted as (
    delete from storecrawl.catalog_changes
    where position <= (select max(position) from outdated)
),
noted as (
    update storecrawl.change_feed
    set dropped = (select max(position) from outdated)
    where exists (select from outdated)
)
select count(*)
from outdated


-- name: last_alarms
-- returns: the last reported severity of each check
select distinct on (new ->> 'check') new ->> 'check' as name, new ->> 'severity' as severity
from storecrawl.catalog_changes
where kind = 'quality_alarm'
order by new ->> 'check', id desc


-- name: add_alarms
-- Add quality alarms to the feed.
insert into storecrawl.catalog_changes (kind, old, new)
select 'quality_alarm', alarm.old, alarm.new
from jsonb_to_recordset(%(alarms)s::jsonb) as alarm (old jsonb, new jsonb)
