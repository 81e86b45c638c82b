-- Reports the progress of each role: open tasks by status, since when the oldest has waited, the current or
-- next root, and the tasks that finished within the last minute.
-- returns: one row per role, by name
-- public: yes
create or replace function rolecall.role_progress()
returns table (
    role text, paused boolean, blocked bigint, scheduled bigint, ready bigint, parked bigint, running bigint,
    waiting bigint, waiting_since timestamptz, current_root bigint, completed_last_minute bigint,
    failed_last_minute bigint, cancelled_last_minute bigint
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
begin
    return query
    with open as (
        select line_id,
            count(*) filter (where state = 'blocked') as blocked,
            count(*) filter (where state = 'pending' and not parked and scheduled_for > v_now) as scheduled,
            count(*) filter (where shown = 'pending' and not parked and scheduled_for <= v_now) as ready,
            count(*) filter (where parked) as parked,
            count(*) filter (where shown = 'running') as running,
            count(*) filter (where state = 'waiting') as waiting,
            min(greatest(created_at, scheduled_for)) filter (
                where shown = 'pending' and scheduled_for <= v_now
            ) as waiting_since,
            min(id) filter (
                where parent_id is null and (shown in ('running', 'waiting') or step_number is not null)
            ) as begun_root,
            min(id) filter (where parent_id is null and shown = 'pending') as next_root
        from rolecall.tasks
        cross join lateral (select rolecall.shown_state(state, key_slot, started_at) as shown) as task
        group by line_id
    ),
    ended as (
        select line_id,
            count(*) filter (where state = 'completed') as completed,
            count(*) filter (where state = 'failed') as failed,
            count(*) filter (where state = 'cancelled') as cancelled
        from rolecall.finished_tasks
        where finished_at >= v_now - interval '1 min' and finished_at < v_now + interval '1 hour'
        group by line_id
    )
    select role.name, role.paused_at is not null,
        coalesce(sum(open.blocked), 0)::bigint, coalesce(sum(open.scheduled), 0)::bigint,
        coalesce(sum(open.ready), 0)::bigint, coalesce(sum(open.parked), 0)::bigint,
        coalesce(sum(open.running), 0)::bigint, coalesce(sum(open.waiting), 0)::bigint,
        min(open.waiting_since), coalesce(min(open.begun_root), min(open.next_root)),
        coalesce(sum(ended.completed), 0)::bigint, coalesce(sum(ended.failed), 0)::bigint,
        coalesce(sum(ended.cancelled), 0)::bigint
    from rolecall.roles as role
    left join rolecall.lines as line on line.role = role.name
    left join open on open.line_id = line.id
    left join ended on ended.line_id = line.id
    group by role.name
    order by role.name;
end
$$;
