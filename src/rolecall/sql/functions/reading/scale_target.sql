-- Counts the tasks of a role that workers could be running now: due ones that can run, and running ones.
-- For autoscalers, which would remove busy workers if running tasks were not counted. If the role is
-- paused, counts only running tasks. Tasks that wait for a busy key do not count. Due tasks are counted up
-- to p_most.
-- returns: the number
-- raises: RC031 unknown role
-- public: yes
create or replace function rolecall.scale_target(p_role text, p_most int default 10000)
returns bigint
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select running.number + due.number
    from (
        select count(*) as number
        from rolecall.tasks as task
        where task.state = 'running' and task.line_id in (select id from rolecall.lines where role = p_role)
    ) as running
    cross join (
        select count(*) as number
        from (
            select from rolecall.line_settings as setting
            cross join lateral (
                select from rolecall.tasks as task
                where task.line_id = setting.line_id and task.state = 'pending' and not task.parked
                    and task.scheduled_for <= (select rolecall.clock())
                limit p_most
            ) as task
            where setting.role = p_role and not setting.paused
            limit p_most
        ) as counted
    ) as due
    where exists (select from rolecall.roles where name = p_role)
        or rolecall.refuse('RC031', format('there is no role %L', p_role))
$$;
