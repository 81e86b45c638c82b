-- Says how many tasks of a role workers could be running now: those that are due and free to run, and those
-- that run. What an autoscaler is to be fed with: without the running ones it would take workers away that
-- are busy. Of a role that is paused, only those that run; what waits for a busy key needs no further worker.
-- Counts no further than p_most of what is due.
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
