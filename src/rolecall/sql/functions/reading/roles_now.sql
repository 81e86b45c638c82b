-- Reports the load and throughput of each role at very low cost: open tasks are counted by index, and
-- finished ones are taken from the history, which is a few seconds old. Blocked, waiting and parked tasks
-- are not counted.
-- returns: one row per role, by name; `ended` is what completed or failed within the last minute of the
-- history, null if that is more than a minute old
-- public: yes
create or replace function rolecall.roles_now()
returns table (
    role text, paused boolean, ready bigint, scheduled bigint, running bigint, waiting_since timestamptz,
    ended bigint
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_until timestamptz := (
        select moment from rolecall.history_until where moment > v_now - interval '1 min'
    );
begin
    return query
    with load as (
        select line.role, sum(backlog.ready)::bigint as ready, sum(backlog.scheduled)::bigint as scheduled,
            sum(backlog.running)::bigint as running, min(first.due) as waiting_since
        from rolecall.backlog(v_now) as backlog
        join rolecall.lines as line on line.id = backlog.line_id
        left join lateral (
            select greatest(task.created_at, task.scheduled_for) as due
            from rolecall.tasks as task
            where task.line_id = line.id and task.state = 'pending' and not task.parked
                and task.scheduled_for <= v_now
            order by task.scheduled_for, task.id
            limit 1
        ) as first on true
        group by line.role
    )
    select role.name, role.paused_at is not null and (role.paused_until <= v_now) is not true,
        coalesce(load.ready, 0), coalesce(load.scheduled, 0), coalesce(load.running, 0), load.waiting_since,
        case when v_until is not null then (
            select coalesce(sum(bin.completed + bin.failed), 0)
            from rolecall.history as bin
            where bin.role = role.name and bin.width = 10 and bin.at >= v_until - interval '1 min'
                and bin.at < v_until
        ) end
    from rolecall.roles as role
    left join load on load.role = role.name
    order by role.name;
end
$$;
