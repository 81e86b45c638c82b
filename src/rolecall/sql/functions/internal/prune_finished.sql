-- Forgets single finished tasks whose own time, and that of all they belong to, is up, of the next day that has such ones; a parent goes
-- after its children. What a task needed goes with it.
-- returns: one row: how many; up to which partition all is done, null at the end
-- raises: nothing
-- locks: finished_tasks rows
-- notifies: nothing
create or replace function rolecall.prune_finished(p_after text, p_held bigint[], p_now timestamptz, p_limit int)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_day record;
    v_done text := p_after;
    v_gone bigint[];
begin
    for v_day in select * from rolecall.days_to_prune(p_after, p_now) loop
        v_gone := rolecall.prune_day(v_day.name, v_day.most, p_held, p_now, p_limit);
        exit when v_gone <> '{}';
        v_done := v_day.name;
    end loop;
    delete from rolecall.needs as need where need.task_id = any(v_gone);
    number := coalesce(cardinality(v_gone), 0);
    -- The same day again, until there is nothing: whose last child has gone may go itself.
    place := case when number > 0 then coalesce(v_done, '') end;
    return next;
end
$$;
