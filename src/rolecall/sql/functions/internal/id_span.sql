-- Narrows a range of creation times down to a range of ids, by halving: ids are drawn in the order of creation, but for calls that
-- wait for a lock in between, for which a minute is left at both ends.
-- returns: one row: no task created in the range has an id below the one or from the other on
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.id_span(p_from timestamptz, p_to timestamptz, p_before bigint)
returns table (low bigint, high bigint)
language plpgsql
stable
set search_path = ''
as $$
declare
    v_last bigint;
begin
    low := 0;
    high := coalesce(p_before, 9223372036854775807);
    if p_from is null and p_to is null then
        return next;
        return;
    end if;
    v_last := 1 + greatest(
        (select max(task.id) from rolecall.tasks as task), (select max(task.id) from rolecall.finished_tasks as task), 0
    );
    if p_from is not null then
        low := rolecall.first_id_since(p_from - interval '1 minute', v_last);
    end if;
    if p_to is not null then
        high := least(high, rolecall.first_id_since(p_to + interval '1 minute', v_last));
    end if;
    return next;
end
$$;
