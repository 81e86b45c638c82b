-- Finds declarations that live workers of several apps make with different settings; the app whose worker
-- started last determines the stored settings. Also finds apps of one name that have no handler in common.
-- returns: one row per declaration or name (kind app), with the apps
create or replace function rolecall.contested_declarations()
returns table (kind text, name text, apps text[])
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with live as materialized (
        select declared.*
        from (select distinct app, release from rolecall.workers where stopped_at is null) as worker
        join rolecall.declarations as declared using (app, release)
    ),
    release as materialized (
        select live.app, live.release as id, array_agg(live.name) as handlers
        from live
        where live.kind = 'handler'
        group by live.app, live.release
    )
    select live.kind, live.name, array_agg(distinct live.app order by live.app)
    from live
    group by live.kind, live.name
    having count(distinct live.app) > 1 and count(distinct live.digest) > 1
    union all
    select distinct 'app', one.app, array[one.app]
    from release as one
    join release as other on other.app = one.app and one.id < other.id
    where not one.handlers && other.handlers
    order by 1, 2
$$;
