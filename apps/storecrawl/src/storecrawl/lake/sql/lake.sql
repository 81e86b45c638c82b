-- name: marked_days
-- returns: each platform, state and day that must be written, oldest first
select distinct store.platform, mark.state, day::date as day
from storecrawl.lake_marks as mark
join storecrawl.lake_stores as store on store.store_id = mark.store_id
cross join unnest(mark.days) as span
cross join generate_series(lower(span), upper(span) - 1, interval '1 day') as day
order by day, store.platform, mark.state


-- name: marks_of_day
-- returns: the marks that ask for the file of a platform, a state and a day
select mark.store_id, mark.version
from storecrawl.lake_marks as mark
join storecrawl.lake_stores as store on store.store_id = mark.store_id
where store.platform = %(platform)s
    and mark.state = %(state)s
    and mark.days @> %(day)s::date


-- name: hold_file
-- Write one file at a time: an attempt that has lost its claim must not replace the file of a later one.
select pg_advisory_xact_lock(hashtextextended(%(path)s, 0))


-- name: remove_marks
-- Remove a day from the marks that were read before its prices. A mark that is newer, or is being renewed, stays.
with read as (
    select mark.store_id, mark.state
    from storecrawl.lake_marks as mark
    join unnest(%(stores)s::bigint[], %(versions)s::bigint[]) as old (store_id, version)
        on old.store_id = mark.store_id
        and old.version = mark.version
    where mark.state = %(state)s
    order by mark.store_id
    for update of mark skip locked
),

shortened as (
    update storecrawl.lake_marks as mark
    set days = mark.days - datemultirange(daterange(%(day)s, %(day)s::date + 1)),
        marked_at = clock_timestamp()
    from read
    where mark.store_id = read.store_id
        and mark.state = read.state
        and mark.days <> datemultirange(daterange(%(day)s, %(day)s::date + 1))
)

delete from storecrawl.lake_marks as mark
using read
where mark.store_id = read.store_id
    and mark.state = read.state
    and mark.days = datemultirange(daterange(%(day)s, %(day)s::date + 1))


-- name: remove_old_marks
-- Remove the days before a day from all marks.
with shortened as (
    update storecrawl.lake_marks
    set days = days - datemultirange(daterange(null, %(before)s))
    where days && daterange(null, %(before)s)
        and not days <@ daterange(null, %(before)s)
)

delete from storecrawl.lake_marks
where days <@ daterange(null, %(before)s)


-- name: record_file
insert into storecrawl.lake_files as file (path, platform, state, day, row_count, size)
values (%(path)s, %(platform)s, %(state)s, %(day)s, %(row_count)s, %(size)s)
on conflict (path) do update
set row_count = excluded.row_count,
    size = excluded.size,
    written_at = excluded.written_at


-- name: forget_files
delete from storecrawl.lake_files
where path = any(%(paths)s::text[])


-- name: files_before
-- returns: the paths of the files of days before a day
select path
from storecrawl.lake_files
where day < %(before)s


-- name: lag
-- returns: the oldest mark's time, and the number of stores with a mark that is older than a span
select min(marked_at) as since, count(distinct store_id) as stores
from storecrawl.lake_marks
where marked_at < clock_timestamp() - %(longer_than)s::interval
