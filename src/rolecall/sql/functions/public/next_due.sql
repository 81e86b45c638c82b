-- Says how long a worker of some roles and handlers may sleep until the earliest pending task is due.
-- returns: seconds; 0 when one is due, null when none is pending
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.next_due(p_roles text[], p_handlers text[])
returns float8
language sql
volatile
set search_path = ''
set enable_seqscan = off
as $$
    select extract(epoch from greatest(min(head.scheduled_for) - rolecall.clock(), '0 s'))::float8
    from rolecall.line_settings as setting
    cross join lateral (
        select task.scheduled_for
        from rolecall.tasks as task
        where task.line_id = setting.line_id and task.state = 'pending' and not task.parked
            and task.scheduled_for > coalesce(
                ((nullif(current_setting('rolecall.floor_' || setting.line_id, true), ''))::rolecall.floor).scheduled_for,
                '-infinity'
            )
        order by task.scheduled_for
        limit 1
    ) as head
    where (p_roles = '{}' or setting.role = any(p_roles)) and setting.handler = any(p_handlers) and not setting.paused
$$;
