-- Finds the keys for which most due tasks wait. Reads the index of all waiting tasks that have keys.
-- returns: one row per key with more than one due task, the keys with most tasks first
-- public: yes
create or replace function rolecall.busiest_keys(p_limit int)
returns table (key text, due bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select task.key, count(*)
    from rolecall.tasks as task
    cross join (select rolecall.clock() as now) as moment
    where task.state = 'pending' and task.key is not null and task.scheduled_for <= moment.now
    group by task.key
    having count(*) > 1
    order by count(*) desc, task.key
    limit p_limit
$$;
