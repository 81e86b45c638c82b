-- Reports the open tasks of each role for monitoring: the counts of `roles_now`, tasks that wait for
-- others, and tasks with many attempts, up to 10,000 of each kind. Parked tasks are not counted.
-- returns: one row per role, by name: how many tasks are ready, scheduled, running, blocked and waiting for
-- children, how many have begun five attempts or more, and since when the first ready one has waited
-- public: yes
create or replace function rolecall.pool_gauges()
returns table (
    role text, ready bigint, scheduled bigint, running bigint, blocked bigint, waiting bigint, stuck bigint,
    waiting_since timestamptz
)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with held_up as materialized (
        select line_id, state
        from rolecall.tasks
        where state in ('blocked', 'waiting')
        limit 10000
    ),
    stuck as materialized (
        select line_id from rolecall.tasks where attempt >= 5 limit 10000
    ),
    counted as (
        select line.role, sum(part.blocked)::bigint as blocked, sum(part.waiting)::bigint as waiting,
            sum(part.stuck)::bigint as stuck
        from (
            select line_id, count(*) filter (where state = 'blocked') as blocked,
                count(*) filter (where state = 'waiting') as waiting, 0 as stuck
            from held_up
            group by line_id
            union all
            select line_id, 0, 0, count(*) from stuck group by line_id
        ) as part
        join rolecall.lines as line on line.id = part.line_id
        group by line.role
    )
    select load.role, load.ready, load.scheduled, load.running, coalesce(counted.blocked, 0),
        coalesce(counted.waiting, 0), coalesce(counted.stuck, 0), load.waiting_since
    from rolecall.roles_now() as load
    left join counted on counted.role = load.role
    order by load.role
$$;
