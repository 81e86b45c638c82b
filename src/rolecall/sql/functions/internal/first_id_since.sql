-- Finds about where among the ids the tasks of a moment begin, by halving.
-- returns: the first id whose task was created at the moment or later; p_last where there is none
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.first_id_since(p_moment timestamptz, p_last bigint)
returns bigint
language plpgsql
stable
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
    v_low bigint := 0;
    v_high bigint := p_last;
    v_middle bigint;
    v_next record;
begin
    while v_low < v_high loop
        v_middle := (v_low + v_high) / 2;
        select task.id, task.created_at into v_next
        from (
            select open.id, open.created_at from rolecall.tasks as open
            union all
            select finished.id, finished.created_at from rolecall.finished_tasks as finished
        ) as task
        where task.id >= v_middle
        order by task.id
        limit 1;
        if v_next.created_at < p_moment then
            v_low := v_next.id + 1;
        else
            v_high := v_middle;
        end if;
    end loop;
    return v_low;
end
$$;
