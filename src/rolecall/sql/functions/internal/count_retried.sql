-- Adds to the history's bins of one width the attempts that failed within a time and were not their task's last.
-- returns: nothing
-- raises: nothing
-- locks: the bins
-- notifies: nothing
create or replace function rolecall.count_retried(p_width int, p_from timestamptz, p_until timestamptz)
returns void
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    insert into rolecall.history (role, width, at, retried)
    select shown.role, p_width, date_bin(make_interval(secs => p_width), event.at, 'epoch'), count(*)
    from rolecall.task_events as event
    left join lateral (select line_id from rolecall.tasks where id = event.task_id limit 1) as open on true
    left join lateral (
        select line_id, state = 'failed' and attempt = event.attempt as by_this
        from rolecall.finished_tasks
        where open.line_id is null and id = event.task_id and finished_at >= p_from
            and finished_at < rolecall.clock() + interval '1 hour'
        limit 1
    ) as ended on true
    join rolecall.lines as line on line.id = coalesce(open.line_id, ended.line_id)
    cross join lateral (values (line.role), ('')) as shown (role)
    where event.at >= p_from and event.at < p_until and event.kind in ('error', 'timeout', 'crashed')
        and ended.by_this is not true
    group by 1, 3
    on conflict (role, width, at) do update set retried = rolecall.history.retried + excluded.retried
$$;
