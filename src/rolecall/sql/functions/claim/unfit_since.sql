-- Says since when a task has been given back as one that does not fit.
-- returns: the moment; null for one that has always fitted
create or replace function rolecall.unfit_since(p_task_id bigint)
returns timestamptz
language sql
stable
set search_path = ''
as $$
    select min(event.at)
    from rolecall.task_events as event
    where event.task_id = p_task_id and event.kind = 'misfit'
$$;
