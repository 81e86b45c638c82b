-- Take the whole change log, and set its mark.
-- returns: the stores that changed; whether anything was logged; whether the mark was missing, so that the log may be too
with taken as (
    delete from storecrawl.product_changes
    returning stores
),
marked as (
    insert into storecrawl.change_log_mark
    default values
    on conflict do nothing
    returning set_at
)
select
    array(
        select distinct store_id
        from taken
        cross join lateral unnest(taken.stores) as range
        cross join lateral generate_series(lower(range), upper(range) - 1) as store_id
        order by store_id
    ) as stores,
    exists (select from taken) as logged,
    exists (select from marked) as unmarked
